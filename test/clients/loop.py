"""Compares what the official SDKs read of a provider and of it behind Envoy."""

import itertools
import json
import sys

import anthropic
import openai

SCENES = ["no call", "ours first", "text, ours", "thinking, text, ours", "ours twice", "ours, theirs",
          "theirs, ours", "parallel", "two rounds", "empty second"]
OUTPUT = "".join(f"entry {i} of the listing, owned by nobody in particular\n" for i in range(900))
SYSTEM = "You are careful and say what you did. " * 100
SCHEMA = {"type": "object", "properties": {"path": {"type": "string"}}}
# What two answers of one provider need not share.
VOLATILE = {"created", "created_at", "_request_id", "tools"}

count = itertools.count()


def chat(url, header):
    return openai.OpenAI(base_url=url + "/v1", api_key="sk-stack-test", max_retries=0, default_headers=header).chat.completions, dict(
        model="m", tools=[{"type": "function", "function": {"name": "ls", "parameters": SCHEMA}}], messages=[
            {"role": "system", "content": SYSTEM}, {"role": "user", "content": "List it."},
            {"role": "assistant", "tool_calls": [{"id": "t0", "type": "function", "function": {"name": "ls", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "t0", "content": OUTPUT}])


def chat_json(url, header):
    api, request = chat(url, header)
    return api.create(**request)


def chat_stream(url, header):
    api, request = chat(url, header)
    with api.stream(**request, stream_options={"include_usage": True}) as stream:
        for _ in stream:
            pass
        return stream.get_final_completion()


def responses(url, header):
    return openai.OpenAI(base_url=url + "/v1", api_key="sk-stack-test", max_retries=0, default_headers=header).responses, dict(
        model="m", store=False, instructions=SYSTEM, tools=[{"type": "function", "name": "ls", "parameters": SCHEMA, "strict": False}], input=[
            {"role": "user", "content": "List it."}, {"type": "function_call", "call_id": "t0", "name": "ls", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "t0", "output": OUTPUT}])


def responses_json(url, header):
    api, request = responses(url, header)
    return api.create(**request)


def responses_stream(url, header):
    api, request = responses(url, header)
    with api.stream(**request) as stream:
        for _ in stream:
            pass
        return stream.get_final_response()


def messages(url, header):
    return anthropic.Anthropic(base_url=url, api_key="sk-stack-test", max_retries=0, default_headers=header).messages, dict(
        model="m", max_tokens=100, system=SYSTEM, tools=[{"name": "ls", "input_schema": SCHEMA}], messages=[
            {"role": "user", "content": "List it."}, {"role": "assistant", "content": [{"type": "tool_use", "id": "t0", "name": "ls", "input": {}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t0", "content": OUTPUT}]}])


def messages_json(url, header):
    api, request = messages(url, header)
    return api.create(**request)


def messages_stream(url, header):
    api, request = messages(url, header)
    with api.stream(**request) as stream:
        for _ in stream:
            pass
        return stream.get_final_message()


def plain(value, inside=False):
    """Leaves out what differs between any two answers: times, and the ids of items in a response."""
    if isinstance(value, dict):
        return {k: plain(v, True) for k, v in value.items()
                if k not in VOLATILE and not (k == "id" and inside and str(v).startswith(("fc_", "msg_", "rs_")))}
    return [plain(v, True) for v in value] if isinstance(value, list) else value


def read(client, url, scene, way):
    message = client(url, {"X-Cell": f"{scene}/{way}/{next(count)}"})
    return json.dumps(plain(message.to_dict(mode="json")), sort_keys=True, ensure_ascii=False)


def main(provider, envoy):
    clients = [chat_json, chat_stream, responses_json, responses_stream, messages_json, messages_stream]
    bad = 0
    for client, scene in itertools.product(clients, SCENES):
        try:
            want, got = read(client, provider, scene, "direct"), read(client, envoy, scene, "loop")
        except Exception as e:  # whatever an SDK raises is a finding
            want, got = "an answer", repr(e)
        if want != got or "context_guru" in got:
            bad += 1
            print(f"{client.__name__}, {scene}:\n  direct {want}\n  loop   {got}")
    print(f"openai {openai.__version__}, anthropic {anthropic.__version__}: {len(clients) * len(SCENES) - bad} of {len(clients) * len(SCENES)} answers are equal")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
