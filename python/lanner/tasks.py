"""What a network's outputs mean: classes, boxes, masks, key points, maps and pictures.

>>> reader = lanner.tasks.TaskReader(engine)
>>> detections = reader(engine({"images": image}), image)
>>> for box, name in zip(detections.boxes.numpy(), detections.names):
...     print(name, box)
>>> lanner.save_image("marked.png", lanner.tasks.draw(image, detections))
"""

from lanner._lanner import Classification, CropRunner, DepthMap, Detections, Embedding, Evaluation, Picture, Result, ResultWriter, SemanticMap, TaskReader
from lanner._lanner import crop_box as crop
from lanner._lanner import draw_result as draw
from lanner._lanner import evaluate
from lanner._lanner import suppress_boxes as suppress

__all__ = [
    "Classification",
    "CropRunner",
    "DepthMap",
    "Detections",
    "Embedding",
    "Evaluation",
    "Picture",
    "Result",
    "ResultWriter",
    "SemanticMap",
    "TaskReader",
    "crop",
    "draw",
    "evaluate",
    "suppress",
]
