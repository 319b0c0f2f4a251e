#!/bin/sh
# read_in_browser.sh RUNGS: the page that `rungs read --html` makes of a lesson, opened in a browser without the net, light and
# dark, narrow and wide. Nothing may be wider than the window but what scrolls by itself. 77: there is no browser.
set -eu
rungs=$1
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || { echo "SKIPPED: no browser"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
for lesson in 06 09; do  # one with a table of its own, one with long formulas
  "$rungs" read $lesson --html "$folder/page.html"
  cat >> "$folder/page.html" <<'SCRIPT'
<script>
for (const fold of document.querySelectorAll('details')) fold.open = true;
const wide = document.documentElement.scrollWidth > innerWidth, root = getComputedStyle(document.documentElement);
const formula = document.querySelector('.formula sub') !== null, folds = document.querySelectorAll('details > summary').length;
const seen = document.createElement('pre');
seen.id = 'seen';
seen.textContent = `wide: ${wide}; formula: ${formula}; hints: ${folds > 4}; ink ${root.color} on ${root.backgroundColor}`;
document.body.append(seen);
</script>
SCRIPT
  for scheme in 0 1; do  # dark, light
    for width in 400 1200; do
      "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$folder/profile" --host-resolver-rules="MAP * ~NOTFOUND" \
        --window-size=$width,900 --blink-settings=preferredColorScheme=$scheme --dump-dom "file://$folder/page.html" \
        > "$folder/dom.html" 2> "$folder/said" || { cat "$folder/said"; exit 1; }
      seen=$(sed -n 's/.*<pre id="seen">\(.*\)<\/pre>.*/\1/p' "$folder/dom.html")
      echo "lesson $lesson, scheme $scheme, $width wide: $seen"
      colours="ink rgb(27, 39, 51) on rgb(255, 255, 255)"
      [ $scheme = 0 ] && colours="ink rgb(228, 234, 240) on rgb(20, 25, 31)"
      [ "$seen" = "wide: false; formula: true; hints: true; $colours" ] || exit 1
    done
  done
done
