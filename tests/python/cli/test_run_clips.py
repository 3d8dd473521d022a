"""lanner run: several clips in one run."""

import pytest

from command import color_classifier, lanner, leftovers, make_clip, make_ppm, succeed
from run_support import named, rows, run, video  # noqa: F401


@pytest.fixture(scope="module")
def clips(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clips")
    return [make_clip(folder, f"{n}.mp4", frames=frames, width=32 + 16 * n, height=32) for n, frames in enumerate((5, 9, 3, 7))]


class TestSeveralClips:
    @pytest.mark.parametrize("options", [["--batch", 2], ["--batch", 4], ["--batch", 16], ["--batch", 3, "--clips-at-once", 1], ["--clips-at-once", 4]])
    def test_several_clips_have_the_answers_of_each_alone(self, run, clips, tmp_path, options):
        alone = {str(clip): rows(succeed(*run, "-i", clip, "--json", "-")) for clip in clips}
        out = tmp_path / "out"
        together = rows(succeed(*run, "-i", *clips, *options, "--json", "-", "-o", f"{out}/"))
        for clip in clips:
            own = [row for row in together if row["source"] == str(clip)]
            for row, expected in zip(own, alone[str(clip)], strict=True):
                assert {**row, "top": None} == {**expected, "top": None}
                shares, others = ({entry["label"]: entry["probability"] for entry in one["top"]} for one in (row, expected))
                assert shares == pytest.approx(others, abs=1e-5)
            marked = video(out / clip.name)
            assert (marked["width"], marked["frames"]["count"]) == (video(clip)["width"], len(own))

    def test_clips_share_batches(self, run, clips):
        found = [(row["source"][-5], row["frame"]) for row in rows(succeed(*run, "-i", *clips[:2], "--batch", 4, "--json", "-"))]
        assert found == [*((str(c), n) for n in range(5) for c in (0, 1)), *(("1", n) for n in range(5, 9))]
        found = [row["source"][-5] for row in rows(succeed(*run, "-i", *clips, "--json", "-"))]
        assert found == [*"0" * 5, *"1" * 9, *"2" * 3, *"3" * 7]

    def test_a_network_of_fixed_batch_size(self, clips, tmp_path):
        model = color_classifier(tmp_path / "model.onnx", batch=4)
        found = rows(succeed("run", model, "--range", "0,1", "--budget", "0", "-i", *clips, "--json", "-"))
        assert sorted((row["source"][-5], row["frame"]) for row in found) == [(str(c), n) for c, frames in enumerate((5, 9, 3, 7)) for n in range(frames)]

    def test_pictures_between_clips_keep_their_order(self, run, clips, tmp_path):
        picture = make_ppm(tmp_path / "p.ppm")
        assert named(run, "-i", clips[0], picture, clips[1], "--batch", 4) == ["0.mp4", "p.ppm", "1.mp4"]

    def test_range_applies_to_each_clip(self, run, clips):
        found = [(row["source"][-5], row["frame"]) for row in rows(succeed(*run, "-i", *clips, "--batch", 4, "--stride", 2, "--frames", 2, "--json", "-"))]
        assert sorted(found) == [(str(c), n) for c in range(4) for n in (0, 2)]

    def test_truncated_clip_does_not_affect_the_others(self, run, clips, tmp_path):
        whole = tmp_path / "whole.mkv"
        succeed("transcode", make_clip(tmp_path, frames=40, width=320, height=240), whole, "-c:v", "mpeg4", "--gop", "5")
        cut = tmp_path / "cut.mkv"
        cut.write_bytes(whole.read_bytes()[: whole.stat().st_size * 2 // 3])
        out = tmp_path / "out"
        result = lanner(*run, "-i", clips[0], cut, clips[1], "--batch", 3, "-o", f"{out}/", "-q")
        assert result.returncode == 2
        assert "cut.mkv: ends early" in result.stderr and "1 of 3 inputs" in result.stderr
        assert leftovers(out) == ["0.mp4", "1.mp4"]
        assert video(out / "1.mp4")["frames"]["count"] == 9
