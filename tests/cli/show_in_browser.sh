#!/bin/sh
# show_in_browser.sh RUNGS MODEL: the page of `rungs show --html`, opened in a browser without the net, light and dark, narrow
# and wide. Its script must have run to its end, and nothing may be wider than the window. 77: there is no browser.
set -eu
rungs=$1 model=$2
. "$(dirname "$0")/browser.sh"
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
page_says "$folder/page.html" "tip: query &lt;bos&gt; (0), key &lt;bos&gt; (0): 1; wide: false"
