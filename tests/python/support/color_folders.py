"""Pictures of one colour in folders of their class."""

from command import LABELS, make_ppm


def write_colors(folder):
    """Five pictures below folder/data, one of them in the wrong folder, and labels.txt beside it; the former is returned."""
    data = folder / "data"
    for name, color in {"red/a": (250, 9, 9), "red/b": (200, 20, 20), "green/c": (9, 250, 9), "blue/d": (9, 9, 250), "blue/wrong": (250, 9, 9)}.items():
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        make_ppm(data / f"{name}.ppm", color=color)
    (folder / "labels.txt").write_text(LABELS)
    return data
