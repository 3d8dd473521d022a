"""The layers of network.py in PyTorch, for training."""

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from network import EPSILON


class TorchLayers(nn.Module):
    """A network whose layers are created at its first run; returns a dict of its outputs."""

    def __init__(self, network):
        super().__init__()
        self.parts = nn.ModuleDict()
        self._network, self._picture = network, None

    def forward(self, picture):
        self._picture = picture
        return self._network(self)

    def input(self):
        return self._picture

    def conv(self, x, name, channels, kernel=3, stride=1, relu=True):
        return self._normalise(self._convolve(x, name, channels, kernel, stride), name, relu)

    def depthwise(self, x, name, stride):
        x = self._convolve(x, name, x.shape[1], 3, stride, groups=x.shape[1])
        return self._normalise(x, name, relu=True)

    def plain(self, x, name, channels, kernel=1, relu=False, bias=None):
        def make():
            part = nn.Conv2d(x.shape[1], channels, kernel, padding=kernel // 2)
            if relu:
                nn.init.kaiming_normal_(part.weight, nonlinearity="relu")
            else:
                nn.init.normal_(part.weight, 0, 0.01)
            with torch.no_grad():
                part.bias.copy_(torch.as_tensor(np.zeros(channels) if bias is None else bias))
            return part

        x = self._part(name, make)(x)
        return functional.relu(x) if relu else x

    def add_relu(self, x, y, name):
        return functional.relu(x + y)

    def add(self, x, y, name):
        return x + y

    def mean(self, x, name):
        return x.mean((2, 3), keepdim=True)

    def upsample(self, x, name):
        return functional.interpolate(x, scale_factor=2, mode="nearest")

    def depth_to_space(self, x, name):
        return functional.pixel_shuffle(x, 2)

    def weights(self):
        """By layer, for export.OnnxLayers: weight and bias, or scale, bias, mean and variance."""
        found = {}
        for name, part in self.parts.items():
            values = [part.weight, part.bias]
            if isinstance(part, nn.BatchNorm2d):
                values += [part.running_mean, part.running_var]
            found[name] = [v.detach().numpy() for v in values if v is not None]
        return found

    def start_from(self, weights):
        """Copies layers of equal shapes from another network; returns how many."""
        taken = 0
        with torch.no_grad():
            for name, part in self.parts.items():
                values = [part.weight, part.bias]
                if isinstance(part, nn.BatchNorm2d):
                    values += [part.running_mean, part.running_var]
                values = [v for v in values if v is not None]
                given = weights.get(name, [])
                if [v.shape for v in values] == [v.shape for v in given]:
                    taken += 1
                    for value, new in zip(values, given, strict=True):
                        value.copy_(torch.as_tensor(new))
        return taken

    def _convolve(self, x, name, channels, kernel, stride, groups=1):
        def make():
            part = nn.Conv2d(x.shape[1], channels, kernel, stride, groups=groups, bias=False)
            nn.init.kaiming_normal_(part.weight, nonlinearity="relu")
            return part

        # An odd pixel of padding goes to the end.
        total = kernel - stride if kernel > 1 else 0
        before, after = total // 2, total - total // 2
        return self._part(name, make)(functional.pad(x, (before, after, before, after)))

    def _normalise(self, x, name, relu):
        x = self._part(f"{name}_bn", lambda: nn.BatchNorm2d(x.shape[1], eps=EPSILON, momentum=0.03))(x)
        return functional.relu(x) if relu else x

    def _part(self, name, make):
        if name not in self.parts:
            self.parts[name] = make()
        return self.parts[name]
