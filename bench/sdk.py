"""One of the official SDKs in a loop, as `wakeful-bench client` is for ours: PROVIDER URL BODY_FILE COUNT stream|whole"""

import json
import resource
import sys
import time

WARM = 20
KEY = "no-key-but-as-long-as-one-0123456789"

provider, url, body_file, count, manner = sys.argv[1:]
with open(body_file, encoding="utf-8") as file:
    body = json.load(file)
if provider == "anthropic":
    import anthropic

    ask = anthropic.Anthropic(api_key=KEY, base_url=url, max_retries=0).messages.create
    fields = ("model", "max_tokens", "system", "tools", "messages")
else:
    import openai

    ask = openai.OpenAI(api_key=KEY, base_url=url, max_retries=0).responses.create
    fields = ("model", "instructions", "tools", "input", "store")
body = {name: value for name, value in body.items() if name in fields}


def once():
    answer = ask(**body, stream=manner == "stream")
    if manner == "stream":
        for _ in answer:
            pass


def processor_us():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return (used.ru_utime + used.ru_stime) * 1e6


for _ in range(WARM):
    once()
begun, before = time.perf_counter(), processor_us()
for _ in range(int(count)):
    once()
print(
    json.dumps(
        {
            "processor_us": processor_us() - before,
            "wall_us": (time.perf_counter() - begun) * 1e6,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6,
        }
    )
)
