#!/bin/sh
# show_in_browser.sh RUNGS MODEL: the page of `rungs show --html`, opened in a browser without the net, light and dark, narrow
# and wide. Its script must have run to its end, and nothing may be wider than the window. 77: there is no browser.
set -eu
rungs=$1 model=$2
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || { echo "SKIPPED: no browser"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$rungs" show --model "$model" --text "Lily had a red ball." --html "$folder/page.html"
# What a person would do with a mouse, and what the test wants to know, goes behind the page's own script.
cat >> "$folder/page.html" <<'SCRIPT'
<script>
const svg = document.querySelector('.rungs-show svg.matrix'), d = svg.dataset, box = svg.getBoundingClientRect();
const at = (left, top) => svg.dispatchEvent(new PointerEvent('pointermove', {clientX: box.x + left, clientY: box.y + top}));
at(+d.left + 2, +d.top + 2);
const tip = document.querySelector('.rungs-show .tip').textContent;
const wide = document.documentElement.scrollWidth > innerWidth;
const ink = getComputedStyle(document.querySelector('.rungs-show')).color, back = getComputedStyle(document.documentElement).backgroundColor;
const seen = document.createElement('pre');
seen.id = 'seen';
seen.textContent = `tip: ${tip}; wide: ${wide}; ink ${ink} on ${back}`;
document.body.append(seen);
</script>
SCRIPT
for scheme in 0 1; do  # dark, light
  for width in 400 1200; do
    "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$folder/profile" --host-resolver-rules="MAP * ~NOTFOUND" \
      --window-size=$width,900 --blink-settings=preferredColorScheme=$scheme --dump-dom "file://$folder/page.html" \
      > "$folder/dom.html" 2> "$folder/said" || { cat "$folder/said"; exit 1; }
    seen=$(sed -n 's/.*<pre id="seen">\(.*\)<\/pre>.*/\1/p' "$folder/dom.html")
    echo "scheme $scheme, $width wide: $seen"
    colours="ink rgb(27, 39, 51) on rgb(255, 255, 255)"
    [ $scheme = 0 ] && colours="ink rgb(228, 234, 240) on rgb(20, 25, 31)"
    [ "$seen" = "tip: query &lt;bos&gt; (0), key &lt;bos&gt; (0): 1; wide: false; $colours" ] || exit 1
  done
done
