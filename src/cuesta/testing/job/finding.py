"""The first half of the job: reading on all sides, and a repair that treats the symptom."""

from __future__ import annotations

from cuesta.testing.job.calls import edit, read, run, search, step
from cuesta.testing.simulator.script import ToolCall

ORIENT = (
    step(
        "A pricing library with two failing tests. First see what there is.",
        "I'll look at the project and run the tests before I change anything.",
        ToolCall("list_files", {}),
        read("README.md"),
    ),
    step("Now the failures themselves, with their numbers.", None, run()),
    step(
        "test_four_cases wants 121.35 and gets 127.88; the report misses the break from 48. Both "
        "have 48 pieces in common. Read what exactly they order.",
        "Both failures seem to turn on an order of 48 pieces. I'll read those tests.",
        read("tests/test_orders.py"),
        read("tests/fixtures.py"),
    ),
    step(
        "The report test: 30 bolts earn the break from 12, 48 bolts should earn the one from 48.",
        None,
        read("tests/test_reports.py"),
        read("stockroom/reports.py"),
    ),
    step(
        "What does the contract say about an order of exactly the start of a break?",
        None,
        read("docs/pricing.md"),
        read("CHANGELOG.md"),
    ),
    step(
        "The contract is plain: whoever orders exactly the start gets the break. So the tests "
        "are right. Four cases of 12 at 2.25 are 108.00 gross. With 12 % off, 95.04 net; "
        "carriage 5.25; tax 21 % of 100.29 is 21.06; together 121.35. The test expects 12 %, "
        "which is 10 + 4/2. We charge 127.88: that is 7 %, or 5 + 4/2. So the percentage is "
        "wrong, not the rounding.",
        "The expected total is a discount of 12 %; the code gives 7 %. I'll follow the quantity "
        "through.",
        read("stockroom/orders.py"),
    ),
    step("quote() leaves all pricing to price_line.", None, read("stockroom/pricing.py")),
    step(
        "price_line takes base units from to_base. If a case were counted as fewer pieces, the "
        "break would be missed. Check.",
        None,
        read("stockroom/units.py"),
    ),
    step(
        "to_base is right for cases: 4 * 12 = 48. test_case says the same. See them pass.",
        None,
        run("tests.test_units"),
    ),
    step(
        "Units are fine. Before I leave the amounts: where is anything rounded?",
        None,
        read("stockroom/money.py"),
        search(r"to_money\("),
    ),
)

SUSPECT = (
    step(
        "Rounding happens on net, tax and carriage only, as the contract says. Could the "
        "catalogue be at fault, a wrong category or case size? The test's product stands outside "
        "it, but the same bug may show there too. See its shape.",
        "Rounding is as the contract wants it. Next the data: the catalogue.",
        read("stockroom/catalogue.py", 1, 130),
    ),
    step(
        "Go on, fasteners and anchors were clean.", None, read("stockroom/catalogue.py", 131, 130)
    ),
    step("And the rest, with the look-ups.", None, read("stockroom/catalogue.py", 261, 130)),
    step(
        "The catalogue's columns are as documented. Where do fasteners appear in the tables?",
        None,
        search(r"fasteners"),
    ),
    step(
        "Check what the suite asserts about these tables.",
        None,
        read("tests/test_catalogue.py"),
        run("tests.test_catalogue"),
    ),
    step("Tax next, to be sure that 21 % is what applies.", None, read("stockroom/tax.py")),
    step(
        "The module is called taxes.",
        "The module has another name; I'll read it under that one.",
        read("stockroom/taxes.py"),
    ),
    step(
        "rate_for takes the latest row that is not after the day: `since <= day` is right at the "
        "border. Test it.",
        None,
        read("tests/test_taxes.py"),
        run("tests.test_taxes"),
    ),
    step(
        "Tax is fine. Carriage: 48 bolts of 40 g are 1,920 g, in the band up to 2,000 g: 5.25.",
        None,
        read("stockroom/shipping.py", 1, 150),
    ),
    step(
        "The other zones, the surcharges and the functions.",
        None,
        read("stockroom/shipping.py", 151),
    ),
    step(
        "band_for uses bisect_left on the upper limits: exactly 2,000 g stays in the band up to "
        "2,000 g. That is what the contract says for bands, and the tests have that border.",
        None,
        read("tests/test_shipping.py"),
        run("tests.test_shipping"),
    ),
    step(
        "The group decides the agreement; trade is what the test uses. See how customers are kept.",
        "Carriage is right, also at the exact weight. Before the discounts, the customers' groups.",
        read("stockroom/customers.py", 1, 160),
    ),
    step("The younger customers, and their tests.", None, read("stockroom/customers.py", 161)),
    step(
        "Groups are plain words and agree with the agreements. Now the discounts, tables first.",
        None,
        read("stockroom/discounts.py", 1, 120),
    ),
    step("Caps and agreements.", None, read("stockroom/discounts.py", 121, 170)),
    step("And the functions at the end.", None, read("stockroom/discounts.py", 291)),
    step(
        "The trade agreement on fasteners is 4 %, as the test assumes. The breaks of fasteners "
        "are 1, 12, 48, 144. What do the tests say about discounts? They only try 1, 30 and "
        "9999: no border.",
        "The tables hold what the test assumes. I'll see which quantities the discount tests try.",
        read("tests/test_discounts.py"),
        run("tests.test_discounts"),
    ),
)

SYMPTOM = (
    step(
        "Understood: public names stay, and a line goes under 4.2.1. Now, the changelog says "
        "that 4.2.0 turned ends into starts. Perhaps the table was not converted: 48 might still "
        "be the end of the lower range, so that the start should be 47. Who reads the starts?",
        "I'll keep all public names and add the changelog line. The table may not have been "
        "converted.",
        search(r"\.start\b"),
        search(r"break_for|next_break|combined_percent"),
    ),
    step(
        "And where do the numbers of pieces come from, on their way to break_for?",
        None,
        search(r"pieces|quantity"),
    ),
    step("How do the pricing tests use them?", None, read("tests/test_pricing.py")),
    step(
        "Try it: shift the start of the break by one and see whether the order test passes.",
        "I'll try whether the row of the table is the fault.",
        edit(
            "stockroom/discounts.py",
            '"fasteners": (Break(1, D(0)), Break(12, D(5)), Break(48, D(10)), Break(144, D(15))),',
            '"fasteners": (Break(1, D(0)), Break(12, D(5)), Break(47, D(10)), Break(144, D(15))),',
        ),
    ),
    step("Run everything: the table is read in several places.", None, run()),
    step(
        "test_four_cases passes now, but next_break, the hint and the hints of an order fail, "
        "and the report names a break from 47 that is on no price list. I treated the symptom in "
        "the data. The table is right and the reading of it is wrong. Take it back.",
        "That only moved the error: the printed start is 48. I'll take the edit back.",
        edit("stockroom/discounts.py", "Break(47, D(10))", "Break(48, D(10))"),
    ),
    step("Back to the two failures I started from?", None, run()),
    step(
        "Yes. Compare with the other categories: what do their starts look like, multiples as "
        "printed?",
        None,
        search(r"Break\(\d+", "stockroom/discounts.py"),
    ),
    step(
        "All starts are round figures, as on a price list. So break_for is to blame. It uses "
        "bisect_left, the idiom of the weight bands, where a limit is the most that a band "
        "carries. Here a limit is a start. Look at both side by side.",
        "The starts are the printed ones, so `break_for` reads them wrongly. I'll compare it "
        "with the carriage code, which searches in the same way.",
        search(r"bisect"),
        read("stockroom/shipping.py", 235, 40),
    ),
    step(
        "And break_for once more, with its docstring.",
        None,
        read("stockroom/discounts.py", 291, 30),
    ),
)
