"""Items of the Responses wire, built by hand for the tests of its rules."""

HI = {"role": "user", "content": "hi"}


def part(words, kind="input_text"):
    return {"type": kind, "text": words}


def message(role, *parts, **more):
    return {"type": "message", "role": role, "content": list(parts), **more}


def said(words="So.", **more):
    return message("assistant", part(words, "output_text"), **more)


def call(name, **more):
    return {"type": "function_call", "call_id": name, "name": "x", "arguments": "{}", **more}


def output(name, content="out", **more):
    return {"type": "function_call_output", "call_id": name, "output": content, **more}


def item(kind, **members):
    return {"type": kind, **members}


def reasoning(**members):
    return {"type": "reasoning", "summary": [], **members}


def body(*items, **more):
    return {"model": "gpt-5.5", "store": False, "input": list(items), **more}
