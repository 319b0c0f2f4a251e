# For scripts that open a page of rungs in a browser: `. browser.sh`. Exits with 77 where there is no browser; $folder is a
# folder for the time of the script.
browser=$(command -v chromium || command -v chromium-browser || command -v google-chrome) || { echo "SKIPPED: no browser"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# page_says PAGE WANTED: opens it without the net, light and dark, narrow and wide. Its <pre id="seen"> must hold WANTED and
# the colours of the scheme.
page_says() {
  for scheme in 0 1; do  # dark, light
    for width in 400 1200; do
      "$browser" --headless --no-sandbox --disable-gpu --user-data-dir="$folder/profile" --host-resolver-rules="MAP * ~NOTFOUND" \
        --window-size=$width,900 --blink-settings=preferredColorScheme=$scheme --dump-dom "file://$1" \
        > "$folder/dom.html" 2> "$folder/said" || { cat "$folder/said"; exit 1; }
      seen=$(sed -n 's/.*<pre id="seen">\(.*\)<\/pre>.*/\1/p' "$folder/dom.html")
      echo "scheme $scheme, $width wide: $seen"
      colours="ink rgb(27, 39, 51) on rgb(255, 255, 255)"
      [ $scheme = 1 ] || colours="ink rgb(228, 234, 240) on rgb(20, 25, 31)"
      [ "$seen" = "$2; $colours" ] || exit 1
    done
  done
}
