"""Measurements as Markdown tables and as text."""

import statistics

MUCH = 0.1  # Share of a core used by other programs.


def ratio(row):
    low, high = row["interval"]
    return f"**{row['ratio']:.2f}** ({low:.2f} to {high:.2f})"


def video_table(rows):
    """A line for each job and rival."""
    lines = ["| job | Lanner | rival | | ratio (95 % interval) |", "|---|---|---|---|---|"]
    for row in rows:
        if "ratio" not in row:
            lines.append(f"| {row['job']} | | {row['rival_name']} | {escaped(why(row))} | |")
            continue
        lines.append(f"| {row['job']} | {row['lanner']} | {row['rival_name']} | {row['rival']} | {ratio(row)} |")
    return "\n".join(lines)


def milliseconds(seconds):
    found = seconds * 1e3
    return f"{found:.0f}" if found >= 100 else f"{found:.3g}"


def single(runs):
    """Of single runs: the median and the 99th percentile."""
    return f"{milliseconds(runs['p50'])}, {milliseconds(runs['p99'])} ms"


NETS_HEADING = (
    "| job | machine | Lanner | its p50, p99 | rival | | its p50, p99 | ratio (95 % interval) | of the quiet ratio | budget, build |"
)


def nets_table(rows):
    """A line for each network, state and rival; rows that were not measured have the reason."""
    lines = [NETS_HEADING, "|---" * (NETS_HEADING.count("|") - 1) + "|"]
    for row in rows:
        if "ratio" not in row:
            lines.append(f"| {row['job']} | {row['state']} | | | {row['rival_name']} | {escaped(why(row))} | | | | |")
            continue
        share = f"{row['share']:.2f}" if "share" in row else ""
        lines.append(
            f"| {row['job']} | {row['state']} | {row['lanner']} | {single(row['lanner_runs'])} | {row['rival_name']} | {row['rival']} | "
            f"{single(row['rival_runs'])} | {ratio(row)} | {share} | {row['built']} |"
        )
    return "\n".join(lines)


def why(row):
    """Why nothing was measured."""
    return f"skipped: {row['skipped']}" if "skipped" in row else f"FAILED: {row['failed']}"


def escaped(text):
    return text.replace("|", "\\|")


def which(row):
    return f"{row['job']}, {row['rival_name']}"


def share_in_words(rows):
    """Empty where no row has a share."""
    rows = [row for row in rows if "share" in row]
    if not rows:
        return ""
    worst = min(rows, key=lambda row: row["share"])
    median = statistics.median(row["share"] for row in rows)
    return f"{worst['share']:.2f} of the quiet ratio or more ({which(worst)}), median {median:.2f} over {len(rows)}"


def tail_in_words(rows):
    worst = max(rows, key=lambda row: tail(row["lanner_runs"]))
    runs = worst["lanner_runs"]
    return f"Lanner's p99 at most {tail(runs):.2f} times its median ({worst['job']}, {runs['count']} runs)"


def tail(runs):
    return runs["p99"] / runs["p50"]


def others_in_words(rows):
    """Empty if no other program used the machine."""
    worst = max(rows, key=lambda row: row["others"])
    if worst["others"] < MUCH:
        return ""
    return f"DISTURBED: other programs used up to {worst['others']:.2f} cores while it was measured ({which(worst)})"


def in_words(rows):
    """The worst of each state, a line each."""
    measured = [row for row in rows if "ratio" in row]
    lines = []
    for state in dict.fromkeys(row["state"] for row in measured):
        here = [row for row in measured if row["state"] == state]
        lines.append(f"{state}: " + "; ".join(filter(None, [share_in_words(here), tail_in_words(here), others_in_words(here)])))
    return "\n".join(lines)


def better_rivals(rows):
    """The ratio to the better rival of each job on the quiet machine."""
    best = {}
    for row in rows:
        if row["state"] == "quiet" and "ratio" in row:
            best[row["job"]] = min(row["ratio"], best.get(row["job"], row["ratio"]))
    return list(best.values())


def cuda_table(rows):
    """A line for each network and batch, and the geometric mean of the ratios."""
    lines = ["| job | Lanner | Inductor | its mode | ratio (95 % interval) | error | builds | clocks |", "|---|---|---|---|---|---|---|---|"]
    for row in rows:
        if "ratio" not in row:
            lines.append(f"| {row['job']} | | {escaped(why(row))} | | | | | |")
            continue
        clocks = ", ".join(f"{value:.0f} {name}" for name, value in row["clocks"].items())
        builds = f"{row['build']:.0f} s, {row['rival_build']:.0f} s"
        told = f"| {row['job']} | {row['lanner']} | {row['rival']} | {row['how']} | {ratio(row)} | {row['error']:.1e} | {builds} | {clocks} |"
        lines.append(told)
    ratios = [row["ratio"] for row in rows if "ratio" in row]
    if ratios:
        lines += ["", f"geometric mean of {len(ratios)} ratios: {statistics.geometric_mean(ratios):.2f}, the least {min(ratios):.2f}"]
    return "\n".join(lines)


def report(nets, video, networks=()):
    """Everything that was measured."""
    parts = []
    if networks:
        parts.append(cuda_table(networks))
    if nets:
        parts += [nets_table(nets), in_words(nets)]
    best = better_rivals(nets)
    if best:
        parts.append(f"median ratio to the better rival over {len(best)} networks and batches, quiet: {statistics.median(best):.2f}")
    if video:
        parts.append(video_table(video))
    return "\n\n".join(part for part in parts if part)
