#!/usr/bin/env python3
"""soak.py PORT PID [--clients 64] [--minutes 10]: clients that ask `rungs serve` without pause, streamed and whole, and
some that go away in the middle. Counts what was lost, and watches the memory of the server (Linux). Ends with status 1
where a request was lost. Needs Python alone."""
import argparse, http.client, json, random, threading, time

parser = argparse.ArgumentParser()
parser.add_argument("port", type=int)
parser.add_argument("pid", type=int)
parser.add_argument("--clients", type=int, default=64)
parser.add_argument("--minutes", type=float, default=10)
options = parser.parse_args()
end = time.time() + 60 * options.minutes
lock = threading.Lock()
whole, left, lost, gaps = 0, 0, [], []


def resident():
    with open(f"/proc/{options.pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024


def ask(chance):
    """One request; returns "whole" or "left". Raises for anything else."""
    stream, leaves = chance.random() < 0.8, chance.random() < 0.05
    body = {"prompt": "Once upon a time, " * chance.randint(1, 20), "max_tokens": chance.randint(1, 120),
            "temperature": 0.8, "seed": chance.randint(0, 1 << 30), "stream": stream}
    connection = http.client.HTTPConnection("127.0.0.1", options.port, timeout=120)
    try:
        connection.request("POST", "/v1/completions", json.dumps(body), {"Content-Type": "application/json"})
        if leaves and not stream:
            return "left"
        response = connection.getresponse()
        if response.status != 200:
            raise RuntimeError(f"status {response.status}: {response.read()[:200]}")
        if not stream:
            if json.loads(response.read())["choices"][0]["finish_reason"] not in ("stop", "length"):
                raise RuntimeError("no finish_reason")
            return "whole"
        last, events, mine, finish = None, 0, [], None
        for line in response:
            if not line.startswith(b"data: {"):
                continue
            now = time.time()
            if last:
                mine.append(now - last)
            last, events = now, events + 1
            finish = json.loads(line[6:])["choices"][0]["finish_reason"] or finish
            if leaves and events == 5:
                return "left"
        if finish not in ("stop", "length"):
            raise RuntimeError("the stream ended without finish_reason")
        with lock:
            gaps.extend(mine)
        return "whole"
    finally:
        connection.close()


def client(number):
    global whole, left
    chance = random.Random(number)
    while time.time() < end:
        try:
            how = ask(chance)
        except Exception as e:
            with lock:
                lost.append(f"{type(e).__name__}: {e}")
            continue
        with lock:
            whole, left = whole + (how == "whole"), left + (how == "left")


threads = [threading.Thread(target=client, args=(n,)) for n in range(options.clients)]
for thread in threads:
    thread.start()
begin = time.time()
while any(thread.is_alive() for thread in threads):
    time.sleep(min(15, max(0.1, end - time.time() + 0.1)))
    print(f"{time.time() - begin:5.0f} s: {whole} answered, {left} left by their clients, {len(lost)} lost; "
          f"{resident():.1f} MiB", flush=True)
gaps.sort()
if gaps:
    at = lambda share: 1e3 * gaps[min(len(gaps) - 1, int(share * len(gaps)))]
    print(f"between events: 50% {at(0.5):.1f} ms, 95% {at(0.95):.1f} ms, 99% {at(0.99):.1f} ms (of {len(gaps)})")
for sentence in sorted(set(lost))[:10]:
    print(f"{lost.count(sentence)} lost: {sentence}")
raise SystemExit(1 if lost else 0)
