"""The second half of the job: the cause, its repair, and the search for the same mistake."""

from __future__ import annotations

from cuesta.testing.job.calls import edit, read, run, search, step
from cuesta.testing.simulator.script import ToolCall

_BORDER_TESTS = """
    def test_exact_start_has_reached_the_break(self):
        self.assertEqual(discounts.break_for("fasteners", 48).percent, D(10))

    def test_one_piece_less_has_not(self):
        self.assertEqual(discounts.break_for("fasteners", 47).percent, D(5))

    def test_every_start_reaches_its_own_break(self):
        for category, breaks in discounts.BREAKS.items():
            for entry in breaks:
                with self.subTest(category=category, start=entry.start):
                    self.assertEqual(discounts.break_for(category, entry.start), entry)
"""

CAUSE = (
    step(
        "bisect_left(starts, 48) gives the place of 48 itself, and one less is the break before. "
        "For a quantity between two starts both functions agree, which is why no test saw it. "
        "First write the test and see it fail: at the start, one piece less, and every start of "
        "every category.",
        "`bisect_left` puts 48 before the entry that starts at 48, so the break before it is "
        "taken. First a test at the borders, to see it fail.",
        edit(
            "tests/test_discounts.py",
            "    def test_above_the_last_start(self):",
            _BORDER_TESTS.lstrip("\n") + "\n    def test_above_the_last_start(self):",
        ),
    ),
    step("It must fail now.", None, run("tests.test_discounts")),
    step(
        "It fails for every start above one piece in every category. Now the fix: bisect_right, "
        "less one. A quantity is at least 1 and the first start is 1, so the index is never "
        "below 0 and max() is not needed; but keep the change small.",
        "It fails for each category. Now the fix.",
        edit(
            "stockroom/discounts.py",
            "from bisect import bisect_left",
            "from bisect import bisect_right",
        ),
        edit(
            "stockroom/discounts.py",
            "    index = bisect_left([entry.start for entry in breaks], quantity)\n"
            "    return breaks[max(index - 1, 0)]",
            "    index = bisect_right([entry.start for entry in breaks], quantity)\n"
            "    return breaks[index - 1]",
        ),
    ),
    step("The discount tests.", None, run("tests.test_discounts")),
    step("Everything.", "The new tests pass. Now the whole suite.", run()),
    step(
        "All pass. cheapest_quantity prices the start of the next break; with the bug it priced "
        "it too high and never recommended it. Does a test show that?",
        "All pass. `cheapest_quantity` depends on the price at a start, and no test tries it "
        "there.",
        search(r"cheapest", "tests"),
        read("stockroom/pricing.py", 60, 60),
    ),
    step(
        "47 pieces at 5 % are 100.46, 48 at 10 % are 97.20: it should say 48. One test for that.",
        None,
        edit(
            "tests/test_pricing.py",
            "    def test_cheapest_far_from_the_next_break(self):",
            "    def test_cheapest_just_below_a_break(self):\n"
            "        self.assertEqual(cheapest_quantity(BOLT, 47), 48)\n"
            "\n"
            "    def test_cheapest_far_from_the_next_break(self):",
        ),
    ),
    step("Run it.", None, run("tests.test_pricing")),
    step("And everything again before I look further.", None, run()),
)

ELSEWHERE = (
    step(
        "The task also asks whether the same mistake was made elsewhere. Comparisons with limits: "
        "carriage (right), tax rates (right). Left are suppliers, inventory and the opening stock.",
        "Now whether the same mistake was made elsewhere: every comparison with a limit.",
        search(r"<=|>=|[^-]<[^<]|[^->]>[^>]", "stockroom"),
    ),
    step(
        "Suppliers: minimum order, rating, lead times.",
        None,
        read("stockroom/suppliers.py", 1, 150),
    ),
    step(
        "The rest of the lead times, and the functions.", None, read("stockroom/suppliers.py", 151)
    ),
    step(
        "meets_minimum uses >=, which fits 'minimum'. Inventory next.",
        None,
        read("stockroom/inventory.py"),
        read("tests/test_inventory.py"),
    ),
    step(
        "to_reorder takes SKUs at or below their level, as its docstring says. Is a level in the "
        "data meant that way? The header of the opening stock says 'from which stock on it is "
        "reordered'.",
        None,
        read("stockroom/opening.py", 1, 150),
    ),
    step("The other aisles.", None, read("stockroom/opening.py", 151)),
    step("It fits: at the level counts. Tests of inventory.", None, run("tests.test_inventory")),
    step(
        "hint() says a customer is close if a fifth more reaches the break: `>` there excludes "
        "only what lies beyond. 40 pieces: 48 is exactly a fifth more, and it is offered. Right. "
        "FREE_FROM is compared with >=, which fits 'from'. What about the caps?",
        None,
        search(r"FREE_FROM|CAPS"),
        search(r"6 // 5|minimum"),
    ),
    step(
        "min(earned + agreed, cap) has no border to get wrong. Check that agreements are looked "
        "up with the groups which the tables have.",
        None,
        search(r"Agreement\("),
    ),
    step(
        "Fine. Public names: nothing was renamed. The package's surface once more, since the "
        "person asked.",
        "Nothing else is wrong at a border. I'll make sure that the public names are untouched.",
        read("stockroom/__init__.py"),
        search(r"^(def|class) ", "stockroom"),
    ),
    step(
        "Who imports bisect_left from discounts by accident? Nobody should.",
        None,
        search(r"bisect_left|bisect_right"),
        ToolCall("bash", {"command": "wc -l stockroom/discounts.py tests/test_discounts.py"}),
    ),
    step(
        "Which past orders did it hit? The ledger of the tills is not to be edited, but the "
        "person will want to know how often an exact start was ordered. Look at its rows.",
        "I'll see in the ledger how often exact starts are ordered; I won't touch it.",
        read("stockroom/ledger.py", 1, 170),
    ),
    step("Go on.", None, read("stockroom/ledger.py", 171, 150)),
    step("And the last weeks, with the functions.", None, read("stockroom/ledger.py", 321)),
    step(
        "Fasteners in exact starts: 12, 48 or 144 pieces.",
        None,
        search(r'"FAS-\d{4}", (12|48|144),', "stockroom/ledger.py"),
    ),
    step(
        "The same for the other categories; their starts differ, but 12, 48 and 144 are common "
        "ones.",
        None,
        search(r'"(?!FAS)[A-Z]{3}-\d{4}", (10|12|24|48|50|100|144|240),', "stockroom/ledger.py"),
    ),
    step(
        "Many lines. between() includes both days, as its docstring says. Its tests, and the whole "
        "suite after these edits.",
        None,
        read("tests/test_ledger.py"),
        run(),
    ),
    step(
        "The changelog: a section 4.2.1 above 4.2.0.",
        "Now the changelog, under 4.2.1 as you asked.",
        edit(
            "CHANGELOG.md",
            "# Changelog\n",
            "# Changelog\n\n"
            "## 4.2.1\n"
            "- An order of exactly the start of a quantity break gets that break (in 4.2.0 it "
            "got the one before).\n",
        ),
    ),
    step("Read it as it stands.", None, read("CHANGELOG.md")),
    step(
        "Does anything pin the version? __version__ is 4.2.0. The person asked for a changelog "
        "line only; the release sets the version. I leave it and say so.",
        None,
        search(r"4\.2\.\d|__version__"),
    ),
    step(
        "The final state of the code that I changed.",
        None,
        read("stockroom/discounts.py", 286, 51),
    ),
    step(
        "And of the tests.",
        None,
        read("tests/test_discounts.py"),
        read("tests/test_pricing.py"),
    ),
    step("Once more everything, from the beginning.", "A last run of the whole suite.", run()),
    step(
        "Done: report.",
        "The two failures had one cause. `break_for` in `stockroom/discounts.py` searched the "
        "starts of the breaks with `bisect_left`, which is right for the weight bands of "
        "`shipping.py` (a limit is the most that a band carries) and wrong for starts: a "
        "quantity of exactly a start was given the break before it. Four cases of 12 got 5 % "
        "instead of 10 %, so the order came to 127.88 instead of 121.35. Between two starts both "
        "searches agree, so no test had seen it.\n\n"
        "Changed:\n"
        "- `stockroom/discounts.py`: `bisect_right` in `break_for`. No public name changed.\n"
        "- `tests/test_discounts.py`: every start reaches its own break, one piece less does "
        "not. The tests failed before the fix.\n"
        "- `tests/test_pricing.py`: `cheapest_quantity` just below a break, which the bug also "
        "spoilt.\n"
        "- `CHANGELOG.md`: a line under 4.2.1.\n\n"
        "The whole suite passes. I looked at every other comparison with a limit (carriage, tax "
        "rates, minimum orders, reorder levels, hints, caps) and found none wrong. Exact starts "
        "are ordered often: the ledger since January has many such lines, and whether to credit "
        "them is yours to decide. On the way I tried to change the table instead; that broke the "
        "printed starts, and I took it back. `__version__` still says 4.2.0: I left it to the "
        "release.",
    ),
)
