"""OpenAI's wires over HTTP: streams, encodings, scripts, failures, the log."""

import asyncio
import gzip
import json
import zlib

import aiohttp
import brotli
import pytest
import zstandard
from openai_talk import (
    KEY,
    ChatTalk,
    ResponsesTalk,
    data_lines,
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
    ToolCall,
)

LOOK = Step(thinking="I should look.", text="I look.", calls=(ToolCall("bash", {"command": "ls"}),))
READ = Step(calls=(ToolCall("bash", {"command": "cat a"}), ToolCall("bash", {"command": "cat ü"})))
SCRIPT = ListScript([LOOK, READ, LOOK], last_words="It is done.")
DECODERS = {
    "zstd": lambda data: zstandard.ZstdDecompressor().decompressobj().decompress(data),
    "br": brotli.decompress,
    "gzip": lambda data: zlib.decompressobj(wbits=31).decompress(data),
    "deflate": zlib.decompress,
    "identity": bytes,
}

pytestmark = pytest.mark.parametrize("talk", [ChatTalk(), ResponsesTalk()], ids=["chat", "resp"])


def said(talk, body, answer):
    return talk.continued(body, talk.content(answer))


@pytest.mark.parametrize("encoding", [*ENCODINGS, "identity"])
@pytest.mark.parametrize("stream", [True, False])
def test_answers_come_in_every_encoding(talk, encoding, stream):
    async def main():
        async with serving(SCRIPT, encoding=encoding) as (simulator, session):
            headers = {"accept-encoding": "gzip, deflate, br, zstd"}
            body = talk.ask(stream=stream)
            response, data = await post(simulator, session, body, talk.path, **headers)
            return response, DECODERS[encoding](data), simulator.calls[0]

    response, data, call = run(main)
    assert response.headers.get("content-encoding", "identity") == encoding == call.encoding
    assert response.headers["x-request-id"]
    content = talk.assembled(data) if stream else talk.content(json.loads(data))
    assert content == call.content
    assert talk.kinds(content) == ["reasoning", "text", "call"]


def test_a_stream_comes_in_pieces_and_each_can_be_read_when_it_arrives(talk):
    text = "A long answer, which comes in many pieces. " * 5

    async def main():
        async with serving(ListScript([Step(text=text)]), encoding="zstd") as (simulator, session):
            simulator.fail_next(Failure.stall(events=6, seconds=30))
            headers = {**KEY, "accept-encoding": "zstd"}
            sent = json.dumps(talk.ask(stream=True))
            url = simulator.url + talk.path
            async with session.post(url, data=sent, headers=headers) as response:
                decoder, data = zstandard.ZstdDecompressor().decompressobj(), b""
                while data.count(b"\n\n") < 6:
                    data += decoder.decompress(await response.content.readany())
            await until(lambda: simulator.calls[0].aborted)
            return data_lines(data), simulator.calls[0]

    events, call = run(main)
    assert len(events) == 6
    assert '"A long answer, which com"' in json.dumps(events)
    assert text not in json.dumps(events)
    assert call.finished


def test_a_conversation_plays_its_script_and_ends_with_the_last_words(talk):
    async def main():
        async with serving(SCRIPT) as (simulator, session):
            body, kinds = talk.ask(), []
            for _ in range(5):
                status, answer = await post_json(simulator, session, body, talk.path)
                assert status == 200, answer
                kinds.append(talk.kinds(talk.content(answer)))
                body = said(talk, body, answer)
            return kinds, simulator

    kinds, simulator = run(main)
    look = ["reasoning", "text", "call"]
    assert kinds == [look, ["call", "call"], look, ["text"], ["text"]]
    assert [call.step for call in simulator.calls] == [0, 1, 2, 3, 4]
    assert len({call.conversation for call in simulator.calls}) == 1
    assert all(call.appended for call in simulator.calls)
    assert {call.dialect for call in simulator.calls} == {talk.dialect}
    common = [call.prefix_common for call in simulator.calls]
    assert common[0] == 0
    assert common == sorted(set(common))
    assert simulator.invalid == 0


def test_only_what_the_model_said_tells_the_place(talk):
    async def main():
        async with serving(ListScript([Step(text="Well."), LOOK])) as (simulator, session):
            _, answer = await post_json(simulator, session, talk.ask(), talk.path)
            await post_json(simulator, session, said(talk, talk.ask(), answer), talk.path)
            await post_json(simulator, session, talk.ask("Well."), talk.path)
            return [(call.conversation, call.step) for call in simulator.calls]

    first, going_on, quoting = run(main)
    assert going_on == (first[0], 1)
    assert (quoting[0] != first[0], quoting[1]) == (True, 0)


def test_an_answer_is_billed_for_all_that_it_says(talk):
    async def main():
        async with serving(ListScript([LOOK, Step(text="I look.")])) as (simulator, session):
            _, answer = await post_json(simulator, session, talk.ask(), talk.path)
            body = said(talk, talk.ask(), answer)
            await post_json(simulator, session, body, talk.path)
            return [call.usage.output for call in simulator.calls]

    both, words = run(main)
    thinking, text, name, arguments = 4, 2, 2, 5
    more = {"openai_chat": (0, 10 + 2), "openai_responses": (4, 4 - 1)}[talk.dialect]
    assert words == text + more[0]
    assert both == thinking + words + name + arguments + more[1]


def test_a_shorter_history_goes_on_where_it_was_and_is_seen_to_be_shorter(talk):
    async def main():
        async with serving(ListScript([LOOK] * 4)) as (simulator, session):
            body = talk.ask()
            for _ in range(2):
                _, answer = await post_json(simulator, session, body, talk.path)
                body = said(talk, body, answer)
            content = simulator.calls[-1].content
            body = talk.continued(talk.ask(), content)
            status, _ = await post_json(simulator, session, body, talk.path)
            return status, simulator.calls[-1], talk.ask()

    status, call, asked = run(main)
    assert (status, call.step, call.appended, call.prefix_common) == (200, 2, False, 1)
    first = asked.get("messages", asked.get("input"))[0]
    assert call.prefix_bytes == len(json.dumps(first, separators=(",", ":")))


def test_conversations_are_kept_apart_and_may_have_scripts_of_their_own(talk):
    def choose(words):
        return ListScript([Step(text="I am the helper.")]) if "helper" in words else SCRIPT

    async def main():
        async with serving(ChosenScript(choose)) as (simulator, session):
            asked = [talk.ask("main task"), talk.ask("you are a helper"), talk.ask("main task")]
            answers = await asyncio.gather(
                *(post_json(simulator, session, body, talk.path) for body in asked)
            )
            kinds = [talk.kinds(talk.content(answer)) for _, answer in answers]
            return kinds, simulator.calls

    kinds, calls = run(main)
    look = ["reasoning", "text", "call"]
    assert kinds == [look, ["text"], look]
    assert len({call.conversation for call in calls}) == 3


def test_side_calls_do_not_touch_the_script(talk):
    schema = {"type": "object", "properties": {"title": {"type": "string"}}}
    titled = {
        "openai_chat": {
            "response_format": {"type": "json_schema", "json_schema": {"schema": schema}}
        },
        "openai_responses": {"text": {"format": {"type": "json_schema", "schema": schema}}},
    }[talk.dialect]

    async def main():
        async with serving(SCRIPT) as (simulator, session):
            simulator.fail_next(Failure.status(503))
            for body in (talk.ask(tools=[]), talk.ask(**titled)):
                status, answer = await post_json(simulator, session, body, talk.path)
                assert (status, simulator.calls[-1].side) == (200, True)
                assert talk.kinds(talk.content(answer)) == ["text"]
            status, _ = await post_json(simulator, session, talk.ask(), talk.path)
            return status, json.dumps(answer)

    status, answer = run(main)
    assert status == 503
    assert '{\\"title\\":\\"Short\\"}' in answer


def test_agents_without_tools_may_play_the_script_too(talk):
    script = ListScript([Step(text="One."), Step(text="Two.")])

    async def main():
        async with serving(script, toolless_beside=False) as (simulator, session):
            body = talk.ask(tools=[])
            for _ in range(3):
                _, answer = await post_json(simulator, session, body, talk.path)
                body = said(talk, body, answer)
            return simulator.calls

    calls = run(main)
    assert [(call.step, call.side) for call in calls] == [(0, False), (1, False), (2, False)]
    assert "All done." in json.dumps(calls[-1].content)


def test_refusals_have_the_providers_shape(talk):
    async def main():
        async with serving(SCRIPT) as (simulator, session):
            _, answer = await post_json(simulator, session, talk.ask(), talk.path)
            body = talk.continued(talk.ask(), talk.content(answer))
            for entries in (body.get("messages"), body.get("input")):
                if entries:
                    entries.pop()
            status, answer = await post_json(simulator, session, body, talk.path)
            return status, answer, simulator

    status, answer, simulator = run(main)
    assert status == 400
    assert answer["error"].keys() == {"message", "type", "param", "code"}
    assert answer["error"]["type"] == "invalid_request_error"
    assert simulator.calls[-1].refusal.rule == "pairing"
    assert simulator.invalid == 1


def test_an_overflow_is_no_invalid_request(talk):
    async def main():
        async with serving(SCRIPT, Conditions(window=500)) as (simulator, session):
            body = talk.ask("x" * 3500)
            return *await post_json(simulator, session, body, talk.path), simulator

    status, answer, simulator = run(main)
    assert (status, answer["error"]["code"]) == (400, "context_length_exceeded")
    assert (simulator.invalid, simulator.overflows) == (0, 1)


def test_a_key_is_required_and_never_kept(talk):
    async def main():
        async with serving(SCRIPT) as (simulator, session):
            statuses = []
            for headers in ({}, {"x-api-key": "secret"}, KEY, {"authorization": "Basic secret"}):
                url, sent = simulator.url + talk.path, json.dumps(talk.ask())
                async with session.post(url, data=sent, headers=headers) as response:
                    statuses.append(response.status)
            return statuses, repr(simulator.calls)

    statuses, log = run(main)
    assert statuses == [401, 401, 200, 401]
    assert "secret" not in log


@pytest.mark.parametrize(
    ("encoding", "compress"),
    [
        ("gzip", gzip.compress),
        ("zstd", zstandard.ZstdCompressor().compress),
        ("br", brotli.compress),
        ("deflate", zlib.compress),
    ],
)
def test_request_bodies_may_be_compressed(talk, encoding, compress):
    async def main():
        async with serving(SCRIPT) as (simulator, session):
            headers = {"content-encoding": encoding}
            data = compress(json.dumps(talk.ask()).encode())
            good, _ = await post(simulator, session, None, talk.path, data=data, **headers)
            bad, _ = await post(simulator, session, None, talk.path, data=b"damaged", **headers)
            return good.status, bad.status, simulator.calls[0].body

    assert run(main) == (200, 400, talk.ask())


def test_the_cache_needs_no_markers_and_is_told_of(talk):
    async def main():
        async with serving(ListScript([LOOK] * 3)) as (simulator, session):
            body = talk.ask("x" * 7000)
            for _ in range(3):
                _, answer = await post_json(simulator, session, body, talk.path)
                body = talk.continued(body, talk.content(answer), output="o" * 700)
            return answer["usage"], [call.usage for call in simulator.calls]

    told, bills = run(main)
    assert [bill.cache_read for bill in bills] == sorted({bill.cache_read for bill in bills})
    assert bills[0].cache_read == 0
    assert bills[1].cache_read % 128 == 0
    assert bills[1].cache_read > 1900
    details = told.get("prompt_tokens_details") or told["input_tokens_details"]
    assert details["cached_tokens"] == bills[2].cache_read
    assert told["total_tokens"] == bills[2].prompt + bills[2].output
    details = told.get("completion_tokens_details") or told["output_tokens_details"]
    assert details["reasoning_tokens"] == 4


@pytest.mark.parametrize(
    ("code", "kind", "name"),
    [
        (429, "requests", "rate_limit_exceeded"),
        (500, "server_error", None),
        (503, "service_unavailable_error", "server_is_overloaded"),
    ],
)
def test_status_failures_come_once_and_the_retry_gets_the_same_step(talk, code, kind, name):
    async def main():
        async with serving(SCRIPT) as (simulator, session):
            simulator.fail_next(Failure.status(code, retry_after=1))
            response, data = await post(simulator, session, talk.ask(), talk.path)
            status, _ = await post_json(simulator, session, talk.ask(), talk.path)
            places = [(call.conversation, call.step) for call in simulator.calls]
            return response, json.loads(data), status, places

    response, answer, status, places = run(main)
    assert (response.status, response.headers["retry-after"]) == (code, "1")
    assert (answer["error"]["type"], answer["error"]["code"]) == (kind, name)
    assert (status, places) == (200, [(places[0][0], 0)] * 2)


@pytest.mark.parametrize("stream", [True, False])
def test_a_cut_breaks_the_connection_and_the_retry_gets_the_same_step(talk, stream):
    async def main():
        async with serving(SCRIPT) as (simulator, session):
            simulator.fail_next(Failure.cut_after(events=4))
            body = talk.ask(stream=stream)
            with pytest.raises(aiohttp.ClientPayloadError):
                await post(simulator, session, body, talk.path)
            response, _ = await post(simulator, session, body, talk.path)
            return response.status, simulator.calls

    status, (cut, again) = run(main)
    assert (cut.status, cut.aborted, cut.finished) == (200, False, True)
    assert (status, again.conversation, again.step) == (200, cut.conversation, 0)


@pytest.mark.parametrize(
    ("failure", "code", "status"),
    [
        (Failure.overloaded_in_stream(3), "server_is_overloaded", 503),
        (Failure.overflow_in_stream(3), "context_length_exceeded", 400),
    ],
)
def test_an_error_may_come_inside_of_a_stream(talk, failure, code, status):
    async def main():
        async with serving(SCRIPT) as (simulator, session):
            simulator.fail_next(failure, failure)
            response, data = await post(simulator, session, talk.ask(stream=True), talk.path)
            plain, _ = await post(simulator, session, talk.ask(), talk.path)
            return response.status, data_lines(data), plain.status

    first, events, plain = run(main)
    assert (first, len(events), plain) == (200, 4, status)
    last = events[-1]
    if talk.dialect == "openai_responses":
        assert (last["type"], last["response"]["status"]) == ("response.failed", "failed")
        last = last["response"]
    assert last["error"]["code"] == code
    assert last["error"]["message"] == failure.message


@pytest.mark.parametrize("stream", [True, False])
def test_a_client_that_leaves_before_the_first_byte_is_noticed(talk, stream):
    async def main():
        async with serving(SCRIPT) as (simulator, session):
            simulator.fail_next(Failure.slow_start(60))
            body = talk.ask(stream=stream)
            asking = asyncio.create_task(post(simulator, session, body, talk.path))
            await until(lambda: simulator.calls and simulator.calls[0].usage)
            asking.cancel()
            await until(lambda: simulator.calls[0].aborted)
            return simulator.calls[0].finished

    assert run(main) is True


@pytest.mark.parametrize(("reason", "there"), [("max_tokens", "length"), (None, "stop")])
def test_why_an_answer_ends_is_told_in_the_wires_words(talk, reason, there):
    script = ListScript([Step(text="Cut", stop_reason=reason)])

    async def main():
        async with serving(script) as (simulator, session):
            _, data = await post(simulator, session, talk.ask(stream=True), talk.path)
            _, answer = await post_json(simulator, session, talk.ask(), talk.path)
            return data_lines(data), answer

    events, answer = run(main)
    if talk.dialect == "openai_chat":
        assert answer["choices"][0]["finish_reason"] == there
        assert events[-2]["choices"][0]["finish_reason"] == there
    else:
        status = "incomplete" if reason else "completed"
        assert answer["status"] == status
        assert events[-1]["type"] == f"response.{status}"
        assert (answer["incomplete_details"] is not None) is bool(reason)
