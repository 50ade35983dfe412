"""The simulator over HTTP: streams, encodings, scripts, the log."""

import asyncio
import gzip
import json
import zlib

import brotli
import pytest
import zstandard
from server_talk import (
    DECODERS,
    KEY,
    LOOK,
    SCRIPT,
    ask,
    assembled,
    continued,
    events,
    post,
    post_json,
    run,
    serving,
    until,
)

from cuesta.testing.simulator import (
    ENCODINGS,
    ChosenScript,
    Conditions,
    Failure,
    ListScript,
    Step,
)


@pytest.mark.parametrize("encoding", [*ENCODINGS, "identity"])
@pytest.mark.parametrize("stream", [True, False])
def test_answers_come_in_every_encoding(encoding, stream):
    async def main():
        async with serving(encoding=encoding) as (simulator, session):
            response, data = await post(
                simulator,
                session,
                ask(stream=stream, thinking={"type": "adaptive", "display": "summarized"}),
                **{"accept-encoding": "gzip, deflate, br, zstd"},
            )
            return response, DECODERS[encoding](data), simulator.calls[0]

    response, data, call = run(main)
    assert response.headers.get("content-encoding", "identity") == encoding == call.encoding
    content = assembled(events(data)) if stream else json.loads(data)["content"]
    assert content == call.content
    assert [block["type"] for block in content] == ["thinking", "text", "tool_use"]
    assert content[0]["thinking"] == "I should look."


def test_each_event_can_be_read_when_it_arrives():
    async def main():
        async with serving(encoding="zstd") as (simulator, session):
            simulator.fail_next(Failure.stall(events=3, seconds=30))
            headers = {**KEY, "accept-encoding": "zstd"}
            body = json.dumps(ask(stream=True))
            async with session.post(
                simulator.url + "/v1/messages", data=body, headers=headers
            ) as response:
                decoder, text = zstandard.ZstdDecompressor().decompressobj(), b""
                while text.count(b"\n\n") < 3:
                    text += decoder.decompress(await response.content.readany())
            await until(lambda: simulator.calls[0].aborted)
            return events(text)

    assert [event["type"] for event in run(main)] == [
        "message_start",
        "ping",
        "content_block_start",
    ]


def test_encodings_take_turns_within_what_the_client_allows():
    async def main():
        async with serving() as (simulator, session):
            for _ in range(4):
                await post(simulator, session, ask(), **{"accept-encoding": "gzip, br;q=0.5"})
            await post(simulator, session, ask(), **{"accept-encoding": "gzip;q=0"})
            await post(simulator, session, {}, **{"accept-encoding": "gzip"})
            return [(call.encoding, call.status) for call in simulator.calls]

    seen = run(main)
    assert {name for name, _ in seen[:4]} == {"gzip", "br"}
    assert seen[4:] == [("identity", 200), ("gzip", 400)]


def test_a_stream_tells_its_bill_twice_and_why_it_ends():
    async def main():
        async with serving() as (simulator, session):
            body = ask(stream=True, system="s" * 7000, cache_control={"type": "ephemeral"})
            _, data = await post(simulator, session, body)
            return events(data), simulator.calls[0].usage

    stream, usage = run(main)
    opening = stream[0]["message"]["usage"]
    assert opening["cache_creation_input_tokens"] == usage.cache_write_5m > 2000
    assert opening["cache_creation"] == {
        "ephemeral_5m_input_tokens": usage.cache_write_5m,
        "ephemeral_1h_input_tokens": 0,
    }
    assert stream[-2]["delta"]["stop_reason"] == "tool_use"
    assert stream[-2]["usage"]["output_tokens"] == usage.output
    assert [event["type"] for event in stream[-1:]] == ["message_stop"]
    pieces = [e for e in stream if e.get("delta", {}).get("type") == "input_json_delta"]
    assert len(pieces) > 1


def test_a_conversation_plays_its_script_and_ends_with_the_last_words():
    async def main():
        async with serving() as (simulator, session):
            body, said = ask(thinking={"type": "adaptive"}), []
            for _ in range(5):
                status, answer = await post_json(simulator, session, body)
                assert status == 200
                said.append([block["type"] for block in answer["content"]])
                body = continued(body, answer["content"])
            return said, simulator

    said, simulator = run(main)
    look = ["thinking", "text", "tool_use"]
    assert said == [look, ["tool_use", "tool_use"], look, ["text"], ["text"]]
    assert [call.step for call in simulator.calls] == [0, 1, 2, 3, 4]
    assert len({call.conversation for call in simulator.calls}) == 1
    assert all(call.appended for call in simulator.calls)
    assert [call.prefix_common for call in simulator.calls] == [0, 1, 3, 5, 7]
    assert simulator.invalid == 0


def test_a_shorter_history_goes_on_where_it_was_and_is_seen_to_be_shorter():
    async def main():
        async with serving() as (simulator, session):
            body = ask()
            for _ in range(2):
                _, answer = await post_json(simulator, session, body)
                body = continued(body, answer["content"])
            body["messages"] = [body["messages"][0], *body["messages"][-2:]]
            status, _ = await post_json(simulator, session, body)
            return status, simulator.calls[-1]

    status, call = run(main)
    assert (status, call.step, call.appended, call.prefix_common) == (200, 2, False, 1)
    assert call.prefix_bytes == len(json.dumps(ask()["messages"][0], separators=(",", ":")))


def test_a_prompt_after_the_end_goes_on_with_the_script():
    say = ListScript([LOOK, Step(text="First part done."), LOOK])

    async def main():
        async with serving(say) as (simulator, session):
            body = ask()
            for _ in range(3):
                _, answer = await post_json(simulator, session, body)
                body = continued(body, answer["content"])
            cut = {**body, "messages": [body["messages"][0], *body["messages"][3:5]]}
            await post_json(simulator, session, cut)
            return [(call.conversation, call.step) for call in simulator.calls]

    seen = run(main)
    assert [step for _, step in seen] == [0, 1, 2, 2]
    assert len({name for name, _ in seen}) == 1


def test_conversations_are_kept_apart_and_may_have_scripts_of_their_own():
    def choose(words):
        return ListScript([Step(text="I am the helper.")]) if "helper" in words else SCRIPT

    async def main():
        async with serving(ChosenScript(choose)) as (simulator, session):
            answers = await asyncio.gather(
                post_json(simulator, session, ask("main task")),
                post_json(simulator, session, ask("you are a helper")),
                post_json(simulator, session, ask("main task")),
            )
            texts = [answer["content"][-1] for _, answer in answers]
            return texts, {call.conversation for call in simulator.calls}

    texts, conversations = run(main)
    assert texts[0]["type"] == "tool_use"
    assert texts[1]["text"] == "I am the helper."
    assert len(conversations) == 3


TITLE = {
    "type": "json_schema",
    "schema": {"type": "object", "properties": {"title": {"type": "string"}}},
}
SUMMARY = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools."


@pytest.mark.parametrize(
    "body",
    [
        ask(tools=[]),
        ask(output_config={"format": TITLE}),
        ask(max_tokens=1),
        ask(SUMMARY),
    ],
    ids=["no tools", "title", "probe", "summary"],
)
def test_side_calls_do_not_touch_the_script(body):
    async def main():
        async with serving() as (simulator, session):
            simulator.fail_next(Failure.status(529))
            status, answer = await post_json(simulator, session, body)
            assert simulator.calls[0].side
            main_status, _ = await post_json(simulator, session, ask())
            return status, answer, main_status

    status, answer, main_status = run(main)
    assert status == 200
    assert [block["type"] for block in answer["content"]] == ["text"]
    assert answer["stop_reason"] == "end_turn"
    assert main_status == 529
    if "output_config" in body:
        assert json.loads(answer["content"][0]["text"]) == {"title": "Short"}


def test_thinking_comes_back_valid_hidden_or_sealed():
    async def main():
        async with serving(ListScript([LOOK] * 6), redact_every=2) as (simulator, session):
            body = ask()
            for _ in range(6):
                status, answer = await post_json(simulator, session, body)
                assert status == 200
                body = continued(body, answer["content"])
            body["system"] = "changed"
            return await post_json(simulator, session, body), simulator

    (status, answer), simulator = run(main)
    kinds = [call.content[0]["type"] for call in simulator.calls[:-1]]
    assert kinds == ["thinking", "redacted_thinking"] * 3
    assert simulator.calls[0].content[0]["thinking"] == ""
    assert (status, simulator.invalid) == (400, 1)
    assert "bound to a different conversation" in answer["error"]["message"]


def test_dropped_thinking_is_listed_in_the_answer():
    mode = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}

    async def main():
        async with serving() as (simulator, session):
            _, answer = await post_json(simulator, session, ask())
            body = continued(ask(), answer["content"], thinking=mode, system="changed")
            beta = {"anthropic-beta": "thinking-binding-controls-2026-08-01"}
            return await post_json(simulator, session, body, **beta)

    status, answer = run(main)
    assert status == 200
    assert answer["input_transformations"] == [
        {
            "type": "thinking_dropped",
            "path": "messages.1.content.0",
            "reason": "prefix_binding_mismatch",
        }
    ]


def test_without_thinking_the_step_has_none():
    async def main():
        async with serving() as (simulator, session):
            return await post_json(simulator, session, ask(model="claude-sonnet-4-5"))

    _, answer = run(main)
    assert [block["type"] for block in answer["content"]] == ["text", "tool_use"]


def test_refusals_have_the_providers_shape():
    async def main():
        async with serving() as (simulator, session):
            body = ask()
            body["messages"].append({"role": "assistant", "content": "{"})
            response, data = await post(simulator, session, body)
            return response, json.loads(data), simulator

    response, answer, simulator = run(main)
    assert response.status == 400
    assert answer["type"] == "error"
    assert answer["error"]["type"] == "invalid_request_error"
    assert answer["request_id"] == response.headers["request-id"]
    assert response.headers["anthropic-ratelimit-requests-limit"]
    assert simulator.calls[0].refusal.rule == "prefill"
    assert simulator.invalid == 1


def test_an_overflow_is_no_invalid_request():
    async def main():
        async with serving(conditions=Conditions(window=500)) as (simulator, session):
            status, answer = await post_json(simulator, session, ask("x" * 3500))
            return status, answer["error"]["message"], simulator

    status, message, simulator = run(main)
    assert status == 400
    assert message.startswith("prompt is too long: ")
    assert (simulator.invalid, simulator.overflows) == (0, 1)


def test_a_key_is_required_and_never_kept():
    async def main():
        async with serving() as (simulator, session):
            url = simulator.url + "/v1/messages"
            statuses = []
            for headers in ({}, {"authorization": "Bearer secret"}, {"authorization": "Basic x"}):
                async with session.post(url, data=json.dumps(ask()), headers=headers) as response:
                    statuses.append(response.status)
            await post(simulator, session, ask())
            return statuses, repr(simulator.calls)

    statuses, log = run(main)
    assert statuses == [401, 200, 401]
    assert "secret" not in log


@pytest.mark.parametrize(
    ("encoding", "compress"),
    [
        ("gzip", gzip.compress),
        ("zstd", zstandard.ZstdCompressor().compress),
        ("br", brotli.compress),
        ("deflate", zlib.compress),
        ("GZIP", gzip.compress),
    ],
)
def test_request_bodies_may_be_compressed(encoding, compress):
    async def main():
        async with serving() as (simulator, session):
            data = compress(json.dumps(ask()).encode())
            good, _ = await post(
                simulator, session, None, data=data, **{"content-encoding": encoding}
            )
            bad, _ = await post(
                simulator, session, None, data=b"damaged", **{"content-encoding": encoding}
            )
            return good.status, bad.status, simulator.calls[0].body

    assert run(main) == (200, 400, ask())


def test_tokens_are_counted_as_they_are_billed():
    async def main():
        async with serving(conditions=Conditions(bill_factor=1.3)) as (simulator, session):
            body = ask()
            del body["max_tokens"]
            path = "/v1/messages/count_tokens"
            status, counted = await post_json(simulator, session, body, path=path)
            await post_json(simulator, session, ask())
            bad, _ = await post_json(simulator, session, {"model": "m"}, path=path)
            return status, counted, simulator.calls[1].usage, bad

    status, counted, usage, bad = run(main)
    assert (status, bad) == (200, 400)
    assert counted["input_tokens"] == usage.prompt


def test_other_paths():
    async def main():
        async with serving() as (simulator, session):
            seen = {}
            for method, path in [
                ("HEAD", "/api/hello"),
                ("GET", "/api/hello"),
                ("HEAD", "/"),
                ("GET", "/v1/models"),
                ("GET", "/v1/messages"),
                ("POST", "/v1/nothing"),
            ]:
                plain = {"accept-encoding": "identity"}
                async with session.request(method, simulator.url + path, headers=plain) as response:
                    seen[method, path] = response.status, await response.read()
            return seen

    seen = run(main)
    assert [status for status, _ in seen.values()] == [200, 200, 200, 200, 404, 404]
    assert json.loads(seen["GET", "/v1/models"][1])["data"][0]["id"]
    assert json.loads(seen["POST", "/v1/nothing"][1])["error"]["type"] == "not_found_error"
