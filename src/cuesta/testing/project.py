"""The project that the scripted agent repairs: `stockroom`, a pricing library with one bug.

The hand-written half lies in the folder `stockroom` beside this file, as text, so that no tool
takes it for a part of Cuesta. The other half is its tables, drawn here from a seed: rows that look
like those of a real trade counter and make the files as long as real ones are.

Rule 1: the code and the tests are the same for every seed; only the tables differ.
Rule 2: rows that a test relies on are written out here, never drawn.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import resources
from itertools import product
from typing import TypeAlias

DEFAULT_SEED = 7

_MARK = re.compile(r"^( *)# \[rows: (\w+)\]$", re.MULTILINE)

Rows: TypeAlias = Iterator[str]


@dataclass(frozen=True, slots=True)
class _Category:
    """The words and ranges from which a category's products are drawn."""

    code: str
    name: str
    nouns: tuple[str, ...]
    finishes: tuple[str, ...]
    cents: tuple[int, int]
    grams: tuple[int, int]
    tax_class: str = "standard"


_METAL = ("zinc plated", "hot-dip galvanised", "stainless A2", "stainless A4", "brass", "black")
_TIMBER = ("planed", "sawn", "pressure treated", "primed white")
_PLAIN = ("standard", "heavy duty", "professional", "compact")

_CATEGORIES = (
    _Category(
        "FAS", "fasteners", ("Hex bolt", "Coach screw", "Wood screw"), _METAL, (4, 240), (2, 90)
    ),
    _Category(
        "ANC", "anchors", ("Wall plug", "Sleeve anchor", "Frame fixing"), _METAL, (6, 410), (3, 140)
    ),
    _Category(
        "HIN", "hinges", ("Butt hinge", "Tee hinge", "Gate hinge"), _METAL, (140, 2900), (60, 900)
    ),
    _Category(
        "LOC", "locks", ("Rim lock", "Mortice lock", "Padlock"), _METAL, (690, 8900), (150, 1400)
    ),
    _Category(
        "TIM", "timber", ("Batten", "Skirting board", "Joist"), _TIMBER, (210, 3800), (400, 9500)
    ),
    _Category(
        "PAI", "paint", ("Wood stain", "Wall paint", "Primer"), _PLAIN, (890, 7400), (750, 11000)
    ),
    _Category(
        "ADH",
        "adhesives",
        ("Wood glue", "Grab adhesive", "Sealant"),
        _PLAIN,
        (260, 1900),
        (180, 900),
    ),
    _Category(
        "ABR", "abrasives", ("Sanding sheet", "Sanding disc", "Belt"), _PLAIN, (22, 890), (8, 300)
    ),
    _Category(
        "HAN", "hand-tools", ("Claw hammer", "Chisel", "Hand saw"), _PLAIN, (590, 6900), (150, 1800)
    ),
    _Category(
        "SAF", "safety", ("Work glove", "Dust mask", "Goggles"), _PLAIN, (90, 2600), (20, 400)
    ),
    _Category(
        "PLU",
        "plumbing",
        ("Compression tee", "Elbow", "Ball valve"),
        _METAL,
        (110, 3300),
        (30, 700),
    ),
    _Category(
        "BOO",
        "handbooks",
        ("Tables", "Code of practice"),
        _PLAIN,
        (900, 5200),
        (200, 1600),
        "reduced",
    ),
)
_SIZES = ("M6 x 30", "M8 x 40", "M10 x 60", "38 x 63", "60 mm", "75 mm", "100 mm", "2.5 l", "120 g")
_PEOPLE = ("A. Verhoeven", "M. Okafor", "L. Brandt", "S. Lindqvist", "P. Moreau", "R. Castellanos")
_GROUPS = (
    *("trade", "works", "school", "council", "export", "harbour", "railway", "theatre", "marina"),
    *("farm", "hospital", "staff"),
)
_REGIONS = tuple(
    f"{land}-{part}"
    for land, parts in {
        "NL": "NH ZH UT GE",
        "BE": "BRU VAN VLG WHT",
        "DE": "BE BY HH NW",
        "FR": "75 59 67 69",
        "AT": "9 5 7",
        "DK": "84 83 82",
        "PL": "MZ WP DS",
        "SE": "AB M O",
    }.items()
    for part in parts.split()
)
_LANDS = tuple(dict.fromkeys(region[:2] for region in _REGIONS))
_PRODUCTS_PER_CATEGORY = 26
_SUPPLIERS = 36
_CUSTOMERS = 300
_SALES = 440


def _dollars(cents: int) -> str:
    return f"{cents / 100:.2f}"


def _sku(category: _Category, index: int) -> str:
    return f"{category.code}-{1 + index // 8:02}{1 + index % 8:02}"


def _supplier(index: int) -> str:
    return f"S-{1 + index % _SUPPLIERS:03}"


def _products(rng: random.Random) -> Rows:
    for place, category in enumerate(_CATEGORIES):
        yield f"# {category.name}, page {place * 2 + 1} of the printed catalogue"
        names = [f"{n}, {f}, {s}" for n, f, s in product(category.nouns, category.finishes, _SIZES)]
        for index, name in enumerate(sorted(rng.sample(names, _PRODUCTS_PER_CATEGORY))):
            price, grams = rng.randint(*category.cents), rng.randint(*category.grams)
            case, pallet = rng.choice((6, 10, 12, 24, 50, 100, 200)), rng.choice((10, 20, 40, 60))
            supplier = _supplier(place * 3 + rng.randrange(3))
            tail = "" if rng.random() > 0.06 else ", active=False"
            yield (
                f'Product("{_sku(category, index)}", "{name}", "{category.name}", '
                f'D("{_dollars(price)}"), {grams}, {case}, {pallet}, "{supplier}", '
                f'"{category.tax_class}"{tail}),'
            )


def _suppliers(rng: random.Random) -> Rows:
    first = (
        "Hallam",
        "Oostveen",
        "Brenner",
        "Delacourt",
        "Nystrom",
        "Zielinski",
        "Tamm",
        "Ferreira",
        "Kuyper",
    )
    second = ("Tooling", "Metaal", "Beschlaege", "& Fils")
    for index, (head, tail) in enumerate(list(product(first, second))[:_SUPPLIERS]):
        yield (
            f'Supplier("{_supplier(index)}", "{head} {tail}", "{rng.choice(_LANDS)}", '
            f'minimum=D("{rng.choice((0, 75, 150, 250, 400))}"), '
            f"payment_days={rng.choice((14, 30, 45, 60))}, rating={rng.randint(2, 5)}),"
        )


def _lead_times(rng: random.Random) -> Rows:
    notes = (
        "from stock",
        "made to order",
        "weekly lorry, Tuesdays",
        "closed in August",
        "via Rotterdam",
    )
    for index, category in product(range(_SUPPLIERS), _CATEGORIES):
        if rng.random() < 0.55:
            yield (
                f'LeadTime("{_supplier(index)}", "{category.name}", days={rng.randint(2, 24)}, '
                f'slack={rng.randint(1, 8)}, note="{rng.choice(notes)}"),'
            )


def _breaks(rng: random.Random) -> Rows:
    yield '"fasteners": (Break(1, D(0)), Break(12, D(5)), Break(48, D(10)), Break(144, D(15))),'
    for category in _CATEGORIES[1:]:
        start, percent = 1, 0
        issue = rng.randint(9, 31)
        yield f"# {category.name}: agreed with {rng.choice(_PEOPLE)}, printed since issue {issue}"
        yield f'"{category.name}": ('
        for _ in range(rng.randint(4, 6)):
            yield f'    Break({start}, D("{percent}")),'
            start *= rng.choice((4, 5, 6, 10)) if start > 1 else rng.choice((6, 10, 12))
            percent += rng.choice((2, 3, 4))
        yield "),"


def _caps(rng: random.Random) -> Rows:
    yield '"fasteners": D(18),'
    for category in _CATEGORIES[1:]:
        yield f'"{category.name}": D({rng.randint(22, 28)}),'


def _agreements(rng: random.Random) -> Rows:
    for group, category in product(_GROUPS, _CATEGORIES):
        percent = rng.randint(1, 8)
        fixed = {"trade": 4, "works": 8}.get(group) if category.name == "fasteners" else None
        yield (
            f'Agreement("{group}", "{category.name}", D({fixed or percent}), '
            f'since="20{rng.randint(18, 25)}-{rng.randint(1, 12):02}-01", '
            f'signed_by="{rng.choice(_PEOPLE)}"),'
        )


def _rates(rng: random.Random) -> Rows:
    standard = dict(zip(_LANDS, (21, 21, 19, 20, 20, 25, 23, 25), strict=True))
    for region in _REGIONS:
        land = region[:2]
        for tax_class, percent, since in (
            ("standard", standard[land], "2012-10-01"),
            ("reduced", 6, "2001-01-01"),
            ("reduced", 9, "2019-01-01"),
            ("exempt", 0, "2001-01-01"),
        ):
            source = f"gazette {rng.randint(2000, 2999)}/{rng.randint(11, 25)}"
            yield (
                f'Rate("{region}", "{tax_class}", D({percent}), since="{since}", '
                f'source="{source}, article {rng.randint(2, 40)}"),'
            )


def _zones(_rng: random.Random) -> Rows:
    for region in _REGIONS:
        yield f'"{region}": {1 + _LANDS.index(region[:2])},'


def _bands(rng: random.Random) -> Rows:
    weights = (
        500,
        2000,
        5000,
        10_000,
        15_000,
        20_000,
        25_000,
        31_500,
        70_000,
        150_000,
        300_000,
        800_000,
    )
    for zone in range(1, len(_LANDS) + 1):
        price = 395 if zone == 1 else 395 + 140 * zone
        yield f"# zone {zone}, tariff of {rng.choice(_PEOPLE)}"
        for weight in weights:
            carrier = rng.choice(("parcel", "parcel plus", "lorry", "pallet net"))
            yield (
                f'Band(zone={zone}, up_to={weight}, price=D("{_dollars(price)}"), '
                f'carrier="{carrier}"),'
            )
            price += 130 if weight == 500 else rng.randint(90, 900)


def _surcharges(rng: random.Random) -> Rows:
    reasons = (
        "long goods",
        "dangerous goods, limited quantity",
        "island tariff",
        "toll",
        "signature",
    )
    for zone, category in product(range(3, len(_LANDS) + 1), _CATEGORIES):
        yield (
            f'Surcharge(zone={zone}, category="{category.name}", '
            f'price=D("{_dollars(rng.randint(40, 1900))}"), reason="{rng.choice(reasons)}"),'
        )


def _opening(rng: random.Random) -> Rows:
    notes = (
        "",
        "",
        "",
        "two damaged, written off",
        "counted twice",
        "label missing",
        "moved from B",
    )
    for aisle, category in enumerate(_CATEGORIES):
        for index in range(_PRODUCTS_PER_CATEGORY):
            counted = rng.randint(20, 4000)
            place = f"{chr(65 + aisle)}-{1 + index // 4:02}-{1 + index % 4}"
            yield (
                f'("{place}", "{_sku(category, index)}", {counted}, '
                f"{rng.randint(0, counted // 3)}, {rng.randint(5, 900)}, "
                f'"{rng.choice(_PEOPLE)}", "{rng.choice(notes)}"),'
            )


def _customers(rng: random.Random) -> Rows:
    kinds = ("Joinery", "Boatyard", "Roofing", "Shopfitters", "Estates", "Workshop", "Builders")
    names = ("Aalders", "Bertrand", "Carlsen", "Dvorak", "Eriksson", "Fabre", "Groen", "Hoffmann")
    for index in range(_CUSTOMERS):
        yield (
            f'Customer("C-{index + 1:04}", "{rng.choice(names)} {rng.choice(kinds)}", '
            f'"{rng.choice(("retail", *_GROUPS))}", "{rng.choice(_REGIONS)}", '
            f'"{2001 + index // 10}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}", '
            f"D({rng.choice((500, 1000, 2500, 5000, 12_000))})),"
        )


def _sales(rng: random.Random) -> Rows:
    for index in range(_SALES):
        day = 1 + index * 28 // _SALES * 2
        pieces = rng.choice((1, 2, 5, 6, 10, 12, 20, 24, 47, 48, 50, 100, 144, 240))
        yield (
            f'Sale("2026-{1 + day // 29:02}-{1 + day % 28:02}", "O-{20_311 + index // 2}", '
            f'"C-{rng.randint(1, _CUSTOMERS):04}", '
            f'"{_sku(rng.choice(_CATEGORIES), rng.randrange(_PRODUCTS_PER_CATEGORY))}", '
            f'{pieces}, D("{_dollars(pieces * rng.randint(40, 2200))}")),'
        )


def _measures(_rng: random.Random) -> Rows:
    table = {
        "length": "mm 1 cm 10 dm 100 m 1000 km 1000000 in 25.4 ft 304.8 yd 914.4",
        "weight": "g 1 kg 1000 t 1000000 oz 28.349523125 lb 453.59237 stone 6350.29318",
        "volume": "ml 1 cl 10 dl 100 l 1000 m3 1000000 fl_oz 28.4130625 pint 568.26125",
        "area": "mm2 1 cm2 100 m2 1000000 sq_in 645.16 sq_ft 92903.04",
    }
    for kind, listed in table.items():
        words = listed.split()
        for name, factor in zip(words[::2], words[1::2], strict=True):
            yield f'"{name}": ("{kind}", Decimal("{factor}")),'


_TABLES: dict[str, Callable[[random.Random], Rows]] = {
    "products": _products,
    "suppliers": _suppliers,
    "lead_times": _lead_times,
    "breaks": _breaks,
    "caps": _caps,
    "agreements": _agreements,
    "rates": _rates,
    "zones": _zones,
    "bands": _bands,
    "surcharges": _surcharges,
    "opening": _opening,
    "customers": _customers,
    "sales": _sales,
    "measures": _measures,
}


def project_files(seed: int = DEFAULT_SEED) -> dict[str, str]:
    """Return the project as it is found, bug included.

    Args:
        seed: Draws the tables. Each table has a generator of its own, so that a change to one
            leaves the others as they are.

    Returns:
        Path below the project's top folder, with `/`, to text; sorted by path.
    """
    top = resources.files("cuesta.testing") / "stockroom"
    found: dict[str, str] = {}
    for folder in ("", "docs", "stockroom", "tests"):
        for entry in (top / folder if folder else top).iterdir():
            if entry.name.endswith(".txt"):
                path = f"{folder}/{entry.name}".lstrip("/").removesuffix(".txt")
                found[path] = _fill(entry.read_text(encoding="utf-8"), seed)
    return dict(sorted(found.items()))


def _fill(template: str, seed: int) -> str:
    """Replace each mark by its rows, at the mark's own indentation."""

    def rows(match: re.Match[str]) -> str:
        indent, name = match.groups()
        rng = random.Random(f"{name} {seed}")  # noqa: S311 - rows of a toy table, no secret
        return "\n".join(indent + row for row in _TABLES[name](rng))

    return _MARK.sub(rows, template)
