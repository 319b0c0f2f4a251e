#!/usr/bin/env python3
"""openai_client.py PORT: asks `rungs serve` with the openai package, which nobody here wrote. Needs `pip install openai`."""
import sys

import openai

client = openai.OpenAI(base_url=f"http://127.0.0.1:{sys.argv[1]}/v1", api_key="none", max_retries=0)
model = client.models.list().data[0].id
assert client.models.retrieve(model).id == model
asked = dict(model=model, max_tokens=20, temperature=0)

whole = client.completions.create(prompt="Once upon a time", **asked)
assert whole.choices[0].finish_reason == "length" and whole.usage.completion_tokens == 20, whole
pieces = [part.choices[0].text for part in client.completions.create(prompt="Once upon a time", stream=True, **asked)]
assert "".join(pieces) == whole.choices[0].text, pieces
print("completion:", repr(whole.choices[0].text))

talk = [{"role": "system", "content": "Tell stories."}, {"role": "user", "content": "One about Ben."}]
answer = client.chat.completions.create(messages=talk, seed=1, **asked).choices[0].message.content
parts = list(client.chat.completions.create(messages=talk, seed=1, stream=True, stream_options={"include_usage": True}, **asked))
assert parts[0].choices[0].delta.role == "assistant" and parts[-1].usage.total_tokens > 20, parts
assert "".join(part.choices[0].delta.content or "" for part in parts if part.choices) == answer
print("chat:", repr(answer))

for error, wrong in ((openai.NotFoundError, dict(model="gpt")), (openai.BadRequestError, dict(temperature=-1)),
                     (openai.BadRequestError, dict(n=2))):
    try:
        client.completions.create(prompt="a", **{**asked, **wrong})
        raise SystemExit(f"{wrong}: was taken")
    except error as e:
        print(f"{wrong}: {e.body['message']}")
