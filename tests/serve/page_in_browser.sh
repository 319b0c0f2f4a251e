#!/bin/sh
# page_in_browser.sh RUNGS [FOLDER]: the page of `rungs serve`, opened in a browser, light and dark, narrow and wide, while
# eight requests run. A text must come, blocks must be coloured, and nothing may be wider than the window. Pictures go to FOLDER.
# 77: there is no browser, or no cpp-httplib.
set -eu
rungs=$1 pictures=${2:-}
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || { echo "SKIPPED: no browser"; exit 77; }
folder=$(mktemp -d)
server=
trap '[ -z "$server" ] || kill -9 $server 2>/dev/null; rm -rf "$folder"' EXIT
"$rungs" serve --port 0 --threads 1 --max-tokens-in-flight 4096 --block-size 16 > "$folder/out" 2> "$folder/err" &
server=$!
for i in $(seq 100); do grep -q http "$folder/out" && break; kill -0 $server 2>/dev/null || break; sleep 0.1; done
grep -q "no HTTP" "$folder/err" && { server=; echo "SKIPPED: no cpp-httplib"; exit 77; }
url=$(grep -o 'http://.*' "$folder/out")
# What a person would do with a mouse, and what the test wants to know: an extension of the browser does it in the page.
mkdir "$folder/person"
cat > "$folder/person/manifest.json" <<'MANIFEST'
{"manifest_version": 3, "name": "person", "version": "1",
 "content_scripts": [{"matches": ["http://127.0.0.1/*"], "js": ["person.js"], "run_at": "document_idle"}]}
MANIFEST
cat > "$folder/person/person.js" <<'SCRIPT'
const of = id => document.getElementById(id), sleep = ms => new Promise(done => setTimeout(done, ms));
(async () => {
  of('tokens').value = 450;
  of('temperature').value = 3;  // no end of text for long
  of('prompt').value = 'Once upon a time, there was a little girl named Lily. She liked to play in the park with her friends.';
  of('many').click();
  let coloured = 0, shared = 0;
  for (let i = 0; i < 200 && !(coloured && shared && of('text').textContent.length > 200); ++i) {
    await sleep(30);
    coloured = Math.max(coloured, document.querySelectorAll('#blocks i[style*="rgb"]').length);
    shared = Math.max(shared, document.querySelectorAll('#blocks i.shared').length);
  }
  const style = getComputedStyle(document.body);
  document.body.dataset.seen = [of('text').textContent.length > 200 ? 'a text' : 'no text',
    coloured ? 'coloured blocks' : 'no coloured blocks', shared ? 'shared blocks' : 'no shared blocks',
    document.documentElement.scrollWidth > innerWidth ? 'too wide' : 'fits',
    'ink ' + style.color + ' on ' + style.backgroundColor].join('; ');
})();
SCRIPT
# What the page sees depends on when it looks: whether blocks are shared, on who came first. It may look eight times.
looks_right() {
  shot=
  [ -z "$pictures" ] || shot="--screenshot=$pictures/serve_${1}_$2.png"
  "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$folder/profile" --window-size=$2,1000 --virtual-time-budget=20000 --disable-features=DisableLoadExtensionCommandLineSwitch --load-extension="$folder/person" \
    --blink-settings=preferredColorScheme=$1 $shot --dump-dom "$url/" > "$folder/dom.html" 2> "$folder/said" || { cat "$folder/said"; exit 1; }
  seen=$(sed -n 's/.*data-seen="\([^"]*\)".*/\1/p' "$folder/dom.html")
  echo "scheme $1, $2 wide: $seen"
  colours="ink rgb(27, 39, 51) on rgb(255, 255, 255)"
  [ $1 = 0 ] && colours="ink rgb(228, 234, 240) on rgb(20, 25, 31)"
  [ "$seen" = "a text; coloured blocks; shared blocks; fits; $colours" ]
}
for scheme in 0 1; do  # dark, light
  for width in 500 1200; do
    looks=1
    until looks_right $scheme $width; do
      looks=$((looks + 1))
      [ $looks -le 8 ] || exit 1
    done
  done
done
kill -INT $server
wait $server || { echo "the server ended with status $?"; exit 1; }
server=
