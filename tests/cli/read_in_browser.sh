#!/bin/sh
# read_in_browser.sh RUNGS: the page that `rungs read --html` makes of a lesson, opened in a browser without the net, light and
# dark, narrow and wide. Nothing may be wider than the window but what scrolls by itself. 77: there is no browser.
set -eu
rungs=$1
. "$(dirname "$0")/browser.sh"
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
  echo "lesson $lesson"
  page_says "$folder/page.html" "wide: false; formula: true; hints: true"
done
