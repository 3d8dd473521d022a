"""The training task of each network of the demo, by the name that train.py takes."""

from lessons.classify import Colours, Kinds
from lessons.depth import Depth
from lessons.grid import Detect
from lessons.masks import Masks
from lessons.pose import Pose
from lessons.poster import Poster
from lessons.upscale import Upscale

LESSONS = {lesson.name: lesson for lesson in (Detect, Kinds, Colours, Masks, Pose, Depth, Upscale, Poster)}
