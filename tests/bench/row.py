"""One row of a benchmark's table: a line of Markdown that also reads well in a terminal. row.h prints the same for C and C++."""


def row(name, ours, rival, theirs, unit="s", goal=0):
    """`ours` and `theirs` are medians of one run, in seconds for the unit "s", which is scaled. The goal is a ratio:
    at least that for a unit such as "MB/s", at most that for any other, and none for 0."""
    sense = "at least" if unit.endswith("/s") else "at most"
    wanted = f"{sense} {goal:.2f} x" if goal else ""
    ratio = f"{ours / theirs:.2g}" if ours < theirs / 10 else f"{ours / theirs:.2f}"
    print(f"| {name:52} | {scaled(ours, unit):>12} | {scaled(theirs, unit):>12} | {rival:32} "
          f"| {ratio:>6} x | {wanted:15} |", flush=True)


def scaled(value, unit):
    if unit == "s":
        scales = ["s", "ms", "us", "ns"]
        while value < 1 and len(scales) > 1:
            value *= 1e3
            scales.pop(0)
        unit = scales[0]
    return f"{value:.3g} {unit}" if value < 1000 else f"{value:.0f} {unit}"
