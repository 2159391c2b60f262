"""The official SDKs, asked for the same as our client: the same words, tools and results, each in the SDK's own idiom.

Each function makes the requests of one scenario. `content` is what our client had to say; how it is said on the wire is
the SDK's business, and so is how its own answer is handed back to it in the next round."""

import warnings

import anthropic
import openai
from google import genai
from google.genai import types

from world import KEY

# The fake ends a round of calls with a word of its own, which the SDK remarks upon.
warnings.filterwarnings("ignore", message="FUNCTION_CALL is not a valid FinishReason")

# What our client asks for where the format demands a number.
OUTPUT_TOKENS_MAX = 8192


def ask_anthropic(url, model, content, stream):
    client = anthropic.Anthropic(api_key=KEY, base_url=url, max_retries=0)
    tools = [{"name": t["name"], "description": t["description"], "input_schema": t["schema"]} for t in content["tools"]]
    messages = [{"role": "user", "content": content["user"]}]
    said = {
        "model": model,
        "max_tokens": OUTPUT_TOKENS_MAX,
        "system": [{"type": "text", "text": text} for text in content["system"]],
        "tools": tools,
    }
    if effort := content["thinking"]:
        said |= {"thinking": {"type": "adaptive"}, "output_config": {"effort": effort}}

    def once():
        if not stream:
            return client.messages.create(messages=messages, **said)
        with client.messages.stream(messages=messages, **said) as events:
            return events.get_final_message()

    answer = once()
    if content["results"]:
        messages.append({"role": "assistant", "content": answer.content})
        calls = [block for block in answer.content if block.type == "tool_use"]
        results = []
        for call, result in zip(calls, content["results"], strict=True):
            block = {"type": "tool_result", "tool_use_id": call.id, "content": result["text"]}
            results.append({**block, "is_error": True} if result["failed"] else block)
        messages.append({"role": "user", "content": results})
        once()


def ask_openai(url, model, content, stream):
    client = openai.OpenAI(api_key=KEY, base_url=url + "/v1", max_retries=0)
    tools = [
        {
            "type": "function",
            "name": t["name"],
            "description": t["description"],
            "parameters": t["schema"],
            "strict": False,
        }
        for t in content["tools"]
    ]
    said = {"model": model, "instructions": "\n\n".join(content["system"]), "tools": tools, "store": False}
    # As ours asks: thoughts in the sealed form in which they can be sent back.
    said["include"] = ["reasoning.encrypted_content"]
    if effort := content["thinking"]:
        said["reasoning"] = {"effort": effort}

    def once(asked):
        if not stream:
            return client.responses.create(input=asked, **said)
        with client.responses.stream(input=asked, **said) as events:
            return events.get_final_response()

    if not content["results"]:
        once(content["user"])
        return
    asked = [{"role": "user", "content": content["user"]}]
    answer = once(asked)
    asked += answer.output
    calls = [item for item in answer.output if item.type == "function_call"]
    for call, result in zip(calls, content["results"], strict=True):
        asked.append({"type": "function_call_output", "call_id": call.call_id, "output": result["text"]})
    once(asked)


def ask_chat(url, model, content, stream):
    client = openai.OpenAI(api_key=KEY, base_url=url + "/v1", max_retries=0)
    tools = [
        {
            "type": "function",
            "function": {"name": t["name"], "description": t["description"], "parameters": t["schema"]},
        }
        for t in content["tools"]
    ]
    messages = [
        {"role": "system", "content": "\n\n".join(content["system"])},
        {"role": "user", "content": content["user"]},
    ]
    said = {"model": model, "tools": tools}
    if effort := content["thinking"]:
        said["reasoning_effort"] = effort

    def once():
        if not stream:
            return client.chat.completions.create(messages=messages, **said)
        with client.chat.completions.stream(
            messages=messages, stream_options={"include_usage": True}, **said
        ) as events:
            return events.get_final_completion()

    answer = once().choices[0].message
    if content["results"]:
        messages.append(answer)
        for call, result in zip(answer.tool_calls, content["results"], strict=True):
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result["text"]})
        once()


def ask_gemini(url, model, content, stream):
    client = genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=url))
    declared = [
        types.FunctionDeclaration(name=t["name"], description=t["description"], parameters_json_schema=t["schema"])
        for t in content["tools"]
    ]
    effort = content["thinking"]
    config = types.GenerateContentConfig(
        thinking_config=types.ThinkingConfig(thinking_level=effort.upper()) if effort else None,
        system_instruction=[types.Part(text=text) for text in content["system"]],
        tools=[types.Tool(function_declarations=declared)],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )

    def once(contents):
        if not stream:
            return client.models.generate_content(model=model, contents=contents, config=config).candidates[0].content
        parts = []
        for chunk in client.models.generate_content_stream(model=model, contents=contents, config=config):
            for part in chunk.candidates[0].content.parts or []:
                # The SDK leaves it to its caller to put a streamed text together again.
                if part.text and parts and parts[-1].text:
                    parts[-1].text += part.text
                else:
                    parts.append(part)
        return types.Content(role="model", parts=parts)

    contents = [types.UserContent(content["user"])]
    answer = once(contents)
    if content["results"]:
        calls = [part.function_call for part in answer.parts if part.function_call]
        parts = []
        for call, result in zip(calls, content["results"], strict=True):
            response = {"error" if result["failed"] else "output": result["text"]}
            parts.append(types.Part.from_function_response(name=call.name, response=response))
        once([*contents, answer, types.UserContent(parts)])


ASK = {"anthropic": ask_anthropic, "openai": ask_openai, "openai-chat": ask_chat, "gemini": ask_gemini}
