"""How a steady request's latency and CPU grow with the history behind it."""

from __future__ import annotations

from statistics import linear_regression, mean, median

from benchmarks.plan import MB, Plan
from benchmarks.report import Result, number
from benchmarks.servers import CUESTA, House
from benchmarks.steady import sample, size_label


def measure(house: House, plan: Plan) -> Result:
    """Measure Cuesta alone over a range of sizes, and fit lines."""
    result = Result("Growth with the history", ("body", "p50 ms", "CPU ms", "KB out", "threshold"))
    sizes, times, cpus = [], [], []
    for seed, steady in enumerate(plan.growth, 50_000):
        with house.run(CUESTA, steady.threshold) as server:
            found = sample(server, house.upstream, steady, seed)
        sizes.append(found.body / MB)
        times.append(median(found.times) * 1e3)
        cpus.append(found.cpu_s * 1e3)
        result.rows.append(
            (
                size_label(steady.size),
                number(times[-1]),
                number(cpus[-1]),
                f"{found.out / 1e3:.0f}",
                f"{steady.threshold:,}",
            )
        )
    for what, values in (("latency", times), ("CPU", cpus)):
        slope, base = linear_regression(sizes, values)
        result.notes.append(
            f"Fitted, {what}: {base:.2f} ms + {slope:.3f} ms a MB of history "
            f"(from {min(sizes):.1f} to {max(sizes):.0f} MB, mean {mean(values):.1f} ms)."
        )
    return result
