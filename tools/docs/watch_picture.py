#!/usr/bin/env python3
"""Draws docs/watch.svg, the screen of `rungs watch 06` after a mistake was saved and a hint was asked for.

Needs tmux and a build of the rungs command.  Usage: tools/docs/watch_picture.py
"""
import html
import os
import pathlib
import re
import subprocess
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
COLUMNS, ROWS = 82, 32
STYLES = {"1": "bold", "2": "faint", "31": "red", "32": "green", "33": "yellow", "36": "cyan"}
CSS = """
  rect { fill: #ffffff; stroke: #d0d7de; } text { fill: #1f2328; font: 13px monospace; white-space: pre; }
  .bold { font-weight: bold; } .faint { fill: #656d76; } .red { fill: #b3261e; } .green { fill: #1a7f37; }
  .yellow { fill: #8a6100; } .cyan { fill: #0b6e7f; }
  @media (prefers-color-scheme: dark) {
    rect { fill: #161b22; stroke: #30363d; } text { fill: #e6edf3; } .faint { fill: #8d96a0; } .red { fill: #ff7b72; }
    .green { fill: #56d364; } .yellow { fill: #e3b341; } .cyan { fill: #76e3ea; }
  }"""


def tmux(*words):
    return subprocess.run(["tmux", "-L", "rungs_picture", *words], check=True, capture_output=True, text=True).stdout


def wait_for(text, seconds=300):
    until = time.time() + seconds
    while time.time() < until:
        if text in tmux("capture-pane", "-p", "-t", "picture"):
            return
        time.sleep(0.1)
    raise SystemExit("the screen does not show %r:\n%s" % (text, tmux("capture-pane", "-p", "-t", "picture")))


def screen():
    """The screen of a learner who hides one key too many, with the first hint below."""
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder, "work")
        environment = {**os.environ, "RUNGS_WORK": str(work)}
        rungs = ROOT / "build/release/bin/rungs"
        subprocess.run([rungs, "start", "06"], env=environment, check=True, capture_output=True)
        tmux("new-session", "-d", "-s", "picture", "-x", str(COLUMNS), "-y", str(ROWS), "-e", "RUNGS_WORK=%s" % work,
             "env", "-u", "NO_COLOR", str(rungs), "watch", "06")
        try:
            wait_for("after the save")
            solution = (ROOT / "lessons/06_causal_mask/solution.cpp").read_text()
            assert solution.count("s = t + 1") == 1
            new = work / "saved.cpp"
            new.write_text(solution.replace("s = t + 1", "s = t"))
            new.rename(work / "06_causal_mask.cpp")
            wait_for("Known mistake")
            tmux("send-keys", "-t", "picture", "h")
            wait_for("1 of 3 hints")
            return tmux("capture-pane", "-e", "-p", "-t", "picture").rstrip("\n").split("\n")
        finally:
            tmux("kill-server")


def svg(lines):
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d">' % (COLUMNS * 7.83 + 24, len(lines) * 18 + 24),
           "<style>%s\n</style>" % CSS, '<rect x="0.5" y="0.5" width="99.8%" height="99.8%" rx="6"/>']
    styles = []  # carried from line to line, as tmux has it
    for row, line in enumerate(lines):
        spans = []
        for part in re.split(r"(\x1b\[[0-9;]*m)", line):
            if part.startswith("\x1b"):
                for code in part[2:-1].split(";"):
                    gone = {"39": STYLES["31"] + STYLES["32"] + STYLES["33"] + STYLES["36"], "22": "bold faint"}.get(code)
                    styles = [s for s in styles if code in STYLES or (gone and s not in gone)]
                    styles += [STYLES[code]] if code in STYLES else []
            elif part:
                spans.append('<tspan class="%s">%s</tspan>' % (" ".join(styles), html.escape(part)))
        out.append('<text xml:space="preserve" x="12" y="%d">%s</text>' % (row * 18 + 24, "".join(spans)))
    return "\n".join(out + ["</svg>", ""])


if __name__ == "__main__":
    (ROOT / "docs/watch.svg").write_text(svg(screen()))
