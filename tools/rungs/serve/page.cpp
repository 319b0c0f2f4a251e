#include "serve.hpp"
namespace rungs {

static constexpr std::string_view page = R"html(<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>rungs serve</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
:root { color-scheme: light dark; --ink: #1b2733; --soft: #5d6975; --line: #d5dce3; --back: #ffffff; --card: #f5f7f9;
  --free: #e3e8ed; --kept: #b9c4cf; --accent: #1f6feb; --bad: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4eaf0; --soft: #98a5b3; --line: #34404c; --back: #14191f;
  --card: #1c232b; --free: #28323c; --kept: #475666; --accent: #6cb0ff; --bad: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 16px; max-width: 1100px; color: var(--ink); background: var(--back);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.35em; margin: 0 0 .6em; } h2 { font-size: 1em; margin: 1em 0 .4em; }
main { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 24px; }
@media (max-width: 760px) { main { grid-template-columns: minmax(0, 1fr); } }
textarea { width: 100%; height: 6.5em; font: inherit; color: inherit; background: var(--card);
  border: 1px solid var(--line); border-radius: 8px; padding: 8px; resize: vertical; }
.row { display: flex; flex-wrap: wrap; gap: 8px 16px; align-items: center; margin: 8px 0; }
input[type=number], input[type=password] { width: 5.5em; font: inherit; color: inherit; background: var(--card);
  border: 1px solid var(--line); border-radius: 6px; padding: 3px 6px; }
input[type=password] { width: 12em; }
button { font: inherit; padding: 5px 16px; border-radius: 8px; border: 1px solid var(--accent); background: var(--accent);
  color: var(--back); cursor: pointer; } button.plain { background: none; color: var(--accent); }
#text { white-space: pre-wrap; overflow-wrap: anywhere; min-height: 8em; background: var(--card); border-radius: 8px;
  padding: 10px; } #text .asked { color: var(--soft); } .bad { color: var(--bad); }
.soft { color: var(--soft); font-size: .9em; }
.numbers { display: flex; flex-wrap: wrap; gap: 8px; }
.numbers div { background: var(--card); border-radius: 8px; padding: 5px 12px; font-size: .85em; color: var(--soft); }
.numbers b { display: block; font-size: 1.35em; color: var(--ink); font-variant-numeric: tabular-nums; }
#blocks { display: flex; flex-wrap: wrap; gap: 2px; max-height: 300px; overflow: auto; }
#blocks i { width: 11px; height: 11px; border-radius: 2px; background: var(--free); }
#blocks i.kept { background: var(--kept); }
#blocks i.shared { outline: 2px solid var(--ink); outline-offset: -2px; }
table { border-collapse: collapse; width: 100%; font-size: .9em; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--soft); } th, td { padding: 2px 8px 2px 0; }
.chip { display: inline-block; width: 11px; height: 11px; border-radius: 2px; margin-right: 6px; }
.bar { height: 6px; border-radius: 3px; background: var(--free); min-width: 60px; } .bar i { display: block; height: 6px;
  border-radius: 3px; }
</style></head><body>
<h1>rungs serve <span class="soft" id="model"></span></h1>
<main><section>
<textarea id="prompt" aria-label="prompt">Once upon a time</textarea>
<div class="row">
<label>tokens <input type="number" id="tokens" value="120" min="1"></label>
<label>temperature <input type="number" id="temperature" value="0.7" min="0" step="0.1"></label>
<label><input type="checkbox" id="chat"> as a chat</label>
<label id="keyed" hidden>key <input type="password" id="key"></label>
</div>
<div class="row"><button id="send">Continue</button> <button id="many" class="plain">8 at once</button>
<button id="stop" class="plain">Stop</button> <span class="soft" id="speed"></span></div>
<div id="text" aria-live="polite"></div>
</section><section>
<div class="numbers"><div><b id="rate">0</b>tokens/s</div><div><b id="running">0</b>running</div><div><b id="waiting">0</b>waiting</div>
<div><b id="free">0</b>blocks free</div><div><b id="found">0</b>tokens found</div><div><b id="preempted">0</b>preempted</div></div>
<h2>Blocks of the KV cache</h2><div id="blocks"></div>
<p class="soft">A colour is a request, a frame a block that several share; a darker free block is found by a prompt that begins alike. <span id="size"></span></p>
<h2>Requests</h2><div id="requests" class="soft">None.</div>
</section></main>
<script>
const $ = id => document.getElementById(id);
const colour = id => `hsl(${(id * 137.5) % 360} 65% 50%)`;
let stopping = null, last = null;
const headers = () => ({'Content-Type': 'application/json', ...($('key').value ? {Authorization: 'Bearer ' + $('key').value} : {})});

async function ask(show, signal) {
  const chat = $('chat').checked, prompt = $('prompt').value;
  const body = {max_tokens: +$('tokens').value, temperature: +$('temperature').value, stream: true,
                ...(chat ? {messages: [{role: 'user', content: prompt}]} : {prompt})};
  const response = await fetch(chat ? '/v1/chat/completions' : '/v1/completions',
                               {method: 'POST', headers: headers(), body: JSON.stringify(body), signal});
  if (response.status == 401) $('keyed').hidden = false;
  if (!response.ok) throw new Error((await response.json()).error.message);
  const reader = response.body.getReader(), decoder = new TextDecoder();
  let held = '', count = 0;
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return count;
    held += decoder.decode(value, {stream: true});
    const events = held.split('\n\n');
    held = events.pop();
    for (const event of events) {
      const data = event.slice(6);
      if (data == '[DONE]') continue;
      const j = JSON.parse(data);
      if (j.error) throw new Error(j.error.message);
      const choice = j.choices[0];
      const piece = choice && (chat ? choice.delta.content : choice.text);
      if (piece) { ++count; if (show) show(piece); }
    }
  }
}
function line(text, kind) {
  const span = document.createElement('span');
  span.textContent = text;
  if (kind) span.className = kind;
  $('text').append(span);
  return span;
}
async function send(copies) {
  if (stopping) stopping.abort();
  stopping = new AbortController();
  $('text').textContent = '';
  if (!$('chat').checked) line($('prompt').value, 'asked');
  const answer = line(''), begin = performance.now();
  const all = [ask(piece => answer.textContent += piece, stopping.signal)];
  for (let i = 1; i < copies; ++i) all.push(ask(null, stopping.signal));
  try {
    const counts = await Promise.all(all);
    const seconds = (performance.now() - begin) / 1000, pieces = counts.reduce((a, b) => a + b, 0);
    $('speed').textContent = `${seconds.toFixed(2)} s, ${(pieces / seconds).toFixed(0)} pieces of text a second`;
  } catch (e) {
    if (e.name != 'AbortError') line('\n' + e.message, 'bad');
  }
}
$('send').onclick = () => send(1);
$('many').onclick = () => send(8);
$('stop').onclick = () => stopping && stopping.abort();

function draw(s) {
  const now = performance.now();
  if (last && now > last.now) $('rate').textContent = Math.round(1000 * (s.drawn - last.drawn) / (now - last.now));
  last = {now, drawn: s.drawn};
  const running = s.requests.filter(r => r.slot >= 0);
  $('model').textContent = s.model;
  $('running').textContent = `${running.length}/${s.slots}`;
  $('waiting').textContent = s.requests.length - running.length;
  $('free').textContent = s.holders.filter(h => !h).length;
  $('found').textContent = s.found;
  $('preempted').textContent = s.preemptions;
  $('size').textContent = `${s.holders.length} blocks of ${s.block_size} tokens.`;
  const owner = {};
  for (const r of running) for (const b of r.blocks) owner[b] = r.id;
  const kept = new Set(s.kept), blocks = $('blocks'), shown = Math.min(s.holders.length, 4096);
  while (blocks.children.length < shown) blocks.append(document.createElement('i'));
  for (let b = 0; b < shown; ++b) {
    blocks.children[b].style.background = b in owner ? colour(owner[b]) : '';
    blocks.children[b].className = s.holders[b] > 1 ? 'shared' : kept.has(b) ? 'kept' : '';
  }
  const table = document.createElement('table');
  table.innerHTML = '<tr><th>request</th><th>prompt</th><th>found</th><th>drawn</th><th></th></tr>';
  for (const r of s.requests.slice(0, 12)) {
    const row = table.insertRow(), done = Math.min(100, 100 * r.drawn / r.max_tokens);
    row.innerHTML = `<td><span class="chip" style="background:${colour(r.id)}"></span>${r.id}${r.slot < 0 ? ' waits' : ''}</td>` +
      `<td>${r.prompt}</td><td>${r.found}</td><td>${r.drawn}</td>` +
      `<td><div class="bar"><i style="width:${done}%;background:${colour(r.id)}"></i></div></td>`;
  }
  $('requests').replaceChildren(s.requests.length ? table : 'None.');
}
async function watch() {
  try {
    const response = await fetch('/state', {headers: headers()});
    if (response.status == 401) $('keyed').hidden = false;
    if (response.ok) draw(await response.json());
  } catch (e) { $('model').textContent = 'the server is gone'; }
  setTimeout(watch, 250);
}
watch();
</script></body></html>
)html";

std::string_view server_page() { return page; }

}  // namespace rungs
