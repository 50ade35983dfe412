"""What `cuesta tune` found, in words and tables of 80 columns, or as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cuesta.cli.bill import short_tokens
from cuesta.cli.text import counted, fitted, wrapped
from cuesta.lab.closed_form import base_of
from cuesta.lab.tune import FEW

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cuesta.lab.measured import Point, Tuning
    from cuesta.lab.tune import Answer, Tuned

_WIDTH = 80
_ROWS = 8
_APART = 1.35


def lines(found: Sequence[Tuned], tuning: Tuning) -> Iterator[str]:
    """Write what was found, one group after the other."""
    for number, tuned in enumerate(found):
        if number:
            yield ""
        yield from _group(tuned, tuning)
    yield ""
    if tuning.model:
        yield from wrapped(f"All calls are billed as those of {tuning.model}.", _WIDTH)
    yield from wrapped(
        "Costs are list prices. A replay keeps the recorded steps: it cannot tell what a model "
        "would have done without what was dropped, only that r steps more are paid for.",
        _WIDTH,
    )


def _group(tuned: Tuned, tuning: Tuning) -> Iterator[str]:
    models = ", ".join(f"{model} ({n})" for model, n in sorted(tuned.models.items()))
    yield fitted(
        f"{tuned.name}: {counted(tuned.sessions, 'session')}, {counted(tuned.calls, 'call')},"
        f" {_money(tuned.worth)} with nothing dropped",
        _WIDTH,
    ).rstrip()
    yield from _indented(f"Models: {models}.", "  ")
    yield from _indented(_shape(tuned), "  ")
    yield ""
    yield from _advice(tuned, tuning)
    yield ""
    yield from _answers(tuned)
    yield ""
    yield from _crossings(tuned, tuning)


def _indented(text: str, first: str) -> Iterator[str]:
    for line in wrapped(text, _WIDTH - len(first)):
        yield first + line
        first = " " * len(first)


def _shape(tuned: Tuned) -> str:
    shapes = tuned.shapes.get("engine")
    if not shapes:
        return "No session grows to 2.5 times its head and last turns: too short to fit anything."
    steps = sum(shape.steps for shape in shapes)
    growth = sum(shape.steps * shape.growth for shape in shapes) / steps
    slope = sum(shape.steps * shape.slope for shape in shapes) / steps
    return (
        f"Head and last turns hold {short_tokens(base_of(shapes))} tokens, a step adds "
        f"{short_tokens(growth)}, and a digest is {100 * slope:.0f} % of what it folds."
    )


def _advice(tuned: Tuned, tuning: Tuning) -> Iterator[str]:
    answer = tuned.answer("engine", tuning.extra)
    if tuned.advice is None:
        yield "  Leave the threshold automatic: dropping earns next to nothing here."
    else:
        yield f"  Use --threshold {tuned.advice}"
    for reason in reasons(tuned, answer, tuning):
        yield from _indented(reason, "  - ")


def reasons(tuned: Tuned, answer: Answer, tuning: Tuning) -> Iterator[str]:
    """Yield why a threshold is advised, or none.

    Args:
        tuned: What was found.
        answer: What the advice rests on.
        tuning: How it was looked for.
    """
    never = tuned.points[tuned.top].costs[answer.cache].total(answer.extra)
    within = f"{100 * tuning.within:.0f} %"
    saved = 100 * (1 - answer.best_cost / never) if never else 0.0
    if answer.high is None:
        yield f"the best threshold saves {saved:.0f} % of the cost; {within} are not worth a flag."
    else:
        yield (
            f"from {short_tokens(answer.low)} to {short_tokens(answer.high)} the cost is flat: "
            f"within {within} of the best, which saves {saved:.0f} % of "
            f"{_money(never)}. Higher in the band forgets less."
        )
        point = _nearest(tuned, answer)
        share = 100 * point.worth / tuned.worth if tuned.worth else 0.0
        yield (
            f"{point.crossed} of {counted(tuned.sessions, 'session')}, with {share:.0f} % of the "
            f"cost, ever cross it: {point.cliffs / max(point.crossed, 1):.1f} drops each."
        )
        yield _automatic(tuned, answer, tuning)
    if tuned.sessions < FEW:
        yield f"fewer than {FEW} sessions: too few to say more than what suited these."
    pure = tuned.answer("engine", 0)
    if pure.at_floor and pure.best_cost:
        yield (
            f"with nothing looked up again (r = 0) the cheapest would sit at the floor "
            f"({short_tokens(tuned.floor)}: head, last turns and the smallest gap): "
            f"{tuned.points[pure.best].cliffs} drops in {tuned.calls} calls. That thrashes: it is "
            "cheap only because forgetting costs nothing there."
        )


def _automatic(tuned: Tuned, answer: Answer, tuning: Tuning) -> str:
    """Compare with no flag at all."""
    cost = tuned.points[0].costs[answer.cache].total(answer.extra)
    over = cost / answer.best_cost - 1 if answer.best_cost else 0.0
    if over <= tuning.within:
        return "the automatic threshold is as good: without the flag little is lost."
    return f"the automatic threshold would cost {100 * over:.0f} % more than the best."


def _nearest(tuned: Tuned, answer: Answer) -> Point:
    wanted = tuned.advice or answer.best
    return tuned.points[min(tuned.points, key=lambda threshold: abs(threshold - wanted))]


def _answers(tuned: Tuned) -> Iterator[str]:
    """Write the closed form beside the best replayed threshold."""
    yield "  cache     r  closed form      cost       best      cost    over  band"
    for one in tuned.answers:
        floor = "*" if one.at_floor else " "
        yield (
            f"  {one.cache:<7} {one.extra:>3g}  {_size(one.formula):>11}"
            f"  {_money(one.formula_cost):>8}  {short_tokens(one.best):>8}{floor}"
            f" {_money(one.best_cost):>8}  {100 * (one.ratio - 1):>4.1f} %"
            f"  {short_tokens(one.low)} to {_size(one.high)}"
        )
    if any(one.at_floor for one in tuned.answers):
        yield f"  * at the floor of {short_tokens(tuned.floor)}, or under it"


def _size(tokens: int | None) -> str:
    return short_tokens(tokens) if tokens else "never"


def _crossings(tuned: Tuned, tuning: Tuning) -> Iterator[str]:
    """Write how many sessions ever cross some thresholds, and what that costs."""
    yield f"  threshold  sessions that cross  of cost  drops  cost, r = {tuning.extra:g}  change"
    never = tuned.points[tuned.top].costs["engine"].total(tuning.extra)
    for threshold in _shown(tuned):
        point = tuned.points[threshold]
        cost = point.costs["engine"].total(tuning.extra)
        name = "never" if threshold == tuned.top else short_tokens(threshold)
        yield (
            f"  {name if threshold else 'automatic':>9}"
            f"  {f'{point.crossed} of {tuned.sessions}':>19}"
            f"  {_percent(point.worth, tuned.worth):>7}  {point.cliffs:>5}"
            f"  {_money(cost):>11}  {_change(cost, never):>6}"
        )


def _shown(tuned: Tuned) -> list[int]:
    """Choose thresholds from the floor to the top, some way apart, and the automatic one."""
    chosen: list[int] = []
    for threshold in tuned.points:
        if threshold >= tuned.floor and (not chosen or threshold >= _APART * chosen[-1]):
            chosen.append(threshold)
    kept = [t for t in chosen if t * _APART < tuned.top]
    return [*kept[: _ROWS - 2], tuned.top, 0]


def _percent(part: float, whole: float) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


def _change(cost: float, never: float) -> str:
    return f"{100 * (cost / never - 1):+.0f} %" if never else "-"


def _money(dollars: float) -> str:
    return f"${dollars:,.2f}" if dollars >= 1 else f"${dollars:.4f}"


def as_json(found: Sequence[Tuned], tuning: Tuning) -> list[dict[str, Any]]:
    """Return what was found as plain values."""
    return [_plain(tuned, tuning) for tuned in found]


def _plain(tuned: Tuned, tuning: Tuning) -> dict[str, Any]:
    return {
        "name": tuned.name,
        "models": dict(tuned.models),
        "sessions": tuned.sessions,
        "calls": tuned.calls,
        "dollars_with_nothing_dropped": tuned.worth,
        "floor": tuned.floor,
        "threshold": tuned.advice,
        "too_few": tuned.sessions < FEW,
        "reasons": list(reasons(tuned, tuned.answer("engine", tuning.extra), tuning)),
        "answers": [
            {
                "cache": one.cache,
                "extra_steps": one.extra,
                "closed_form": one.formula,
                "closed_form_dollars": one.formula_cost,
                "best": one.best,
                "best_dollars": one.best_cost,
                "ratio": one.ratio,
                "band": [one.low, one.high],
                "at_floor": one.at_floor,
            }
            for one in tuned.answers
        ],
        "points": [
            {
                "threshold": threshold or "automatic",
                "sessions_that_cross": point.crossed,
                "share_of_cost": point.worth / tuned.worth if tuned.worth else 0.0,
                "drops": point.cliffs,
                "dollars": {
                    cache: {f"{extra:g}": cost.total(extra) for extra in tuning.extras}
                    for cache, cost in point.costs.items()
                },
            }
            for threshold, point in tuned.points.items()
        ],
    }
