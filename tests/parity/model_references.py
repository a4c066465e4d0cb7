"""The models once more, in plain PyTorch: same names, same structure, same initialisation, written independently.

ResNet, MobileNetV2 and VisionTransformer follow torchvision.models, CifarResNet follows
akamaster/pytorch_resnet_cifar10.
"""

import torch
from torch import nn
from torch.nn import functional as F


class Mlp(nn.Module):
    def __init__(self, inputs, hidden, outputs, activation="relu"):
        super().__init__()
        widths = [inputs, *hidden, outputs]
        self.activation = {"silu": F.silu, "gelu": F.gelu, "relu": F.relu, "tanh": torch.tanh, "sigmoid": torch.sigmoid}[activation]
        self.count = len(widths) - 1
        for i in range(self.count):
            setattr(self, f"fc{i + 1}", nn.Linear(widths[i], widths[i + 1]))

    def forward(self, x):
        x = torch.flatten(x, 1)
        for i in range(1, self.count):
            x = self.activation(getattr(self, f"fc{i}")(x))
        return getattr(self, f"fc{self.count}")(x)


class SimpleCnn(nn.Module):
    def __init__(self, channels, size, outputs):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.pool = nn.MaxPool2d(2, 2)
        self.fc1 = nn.Linear(32 * (size // 4) * (size // 4), 256)
        self.fc2 = nn.Linear(256, outputs)

    def forward(self, x):
        x = self.pool(F.relu(self.conv1(x)))
        x = self.pool(F.relu(self.conv2(x)))
        return self.fc2(F.relu(self.fc1(torch.flatten(x, 1))))


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, inplanes, planes, stride, downsample):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.downsample = downsample

    def forward(self, x):
        out = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        identity = x if self.downsample is None else self.downsample(x)
        return self.relu(out + identity)


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inplanes, planes, stride, downsample):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.conv3 = nn.Conv2d(planes, planes * 4, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(planes * 4)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = downsample

    def forward(self, x):
        out = self.relu(self.bn1(self.conv1(x)))
        out = self.relu(self.bn2(self.conv2(out)))
        out = self.bn3(self.conv3(out))
        identity = x if self.downsample is None else self.downsample(x)
        return self.relu(out + identity)


class ResNet(nn.Module):
    def __init__(self, block, layers, channels, outputs, stem="imagenet", zero_init_residual=False):
        super().__init__()
        self.inplanes = 64
        if stem == "cifar":
            self.conv1 = nn.Conv2d(channels, 64, 3, 1, 1)
        else:
            self.conv1 = nn.Conv2d(channels, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.Identity() if stem == "cifar" else nn.MaxPool2d(3, 2, 1)
        self.layer1 = self._layer(block, 64, layers[0], 1)
        self.layer2 = self._layer(block, 128, layers[1], 2)
        self.layer3 = self._layer(block, 256, layers[2], 2)
        self.layer4 = self._layer(block, 512, layers[3], 2)
        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * block.expansion, outputs)
        for module in self.modules():
            if isinstance(module, nn.Conv2d) and not (stem == "cifar" and module is self.conv1):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        if zero_init_residual:
            for module in self.modules():
                if isinstance(module, Bottleneck):
                    nn.init.constant_(module.bn3.weight, 0)
                elif isinstance(module, BasicBlock):
                    nn.init.constant_(module.bn2.weight, 0)

    def _layer(self, block, planes, blocks, stride):
        downsample = None
        if stride != 1 or self.inplanes != planes * block.expansion:
            downsample = nn.Sequential(
                nn.Conv2d(self.inplanes, planes * block.expansion, 1, stride, bias=False),
                nn.BatchNorm2d(planes * block.expansion),
            )
        layers = [block(self.inplanes, planes, stride, downsample)]
        self.inplanes = planes * block.expansion
        layers += [block(self.inplanes, planes, 1, None) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


class CifarBlock(nn.Module):
    def __init__(self, in_planes, planes, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(in_planes, planes, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.pad = planes // 4 if stride != 1 or in_planes != planes else None

    def forward(self, x):
        out = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        if self.pad is not None:
            x = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.pad, self.pad), "constant", 0)
        return F.relu(out + x)


class CifarResNet(nn.Module):
    def __init__(self, blocks, channels, outputs):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.layer1 = nn.Sequential(*[CifarBlock(16, 16, 1) for _ in range(blocks)])
        self.layer2 = nn.Sequential(*[CifarBlock(32 if i else 16, 32, 1 if i else 2) for i in range(blocks)])
        self.layer3 = nn.Sequential(*[CifarBlock(64 if i else 32, 64, 1 if i else 2) for i in range(blocks)])
        self.linear = nn.Linear(64, outputs)
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Conv2d)):
                nn.init.kaiming_normal_(module.weight)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.layer3(self.layer2(self.layer1(out)))
        out = F.avg_pool2d(out, out.size()[3])
        return self.linear(out.view(out.size(0), -1))


class ConvNormActivation(nn.Sequential):
    def __init__(self, inputs, outputs, kernel=3, stride=1, groups=1):
        super().__init__(
            nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU6(inplace=True),
        )


class InvertedResidual(nn.Module):
    def __init__(self, inputs, outputs, stride, factor):
        super().__init__()
        inner = inputs * factor
        widen = [ConvNormActivation(inputs, inner, 1)] if factor != 1 else []
        self.conv = nn.Sequential(
            *widen, ConvNormActivation(inner, inner, 3, stride, inner), nn.Conv2d(inner, outputs, 1, bias=False), nn.BatchNorm2d(outputs)
        )
        self.adds_input = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.conv(x) if self.adds_input else self.conv(x)


class MobileNetV2(nn.Module):
    """torchvision.models.mobilenet_v2; "cifar" leaves out the first two halvings."""

    def __init__(self, channels, outputs, width=1.0, stem="imagenet", dropout=0.2):
        super().__init__()

        def rounded(wanted):
            nearest = max(8, int(wanted + 4) // 8 * 8)
            return nearest + 8 if nearest < 0.9 * wanted else nearest

        small = stem == "cifar"
        inputs = rounded(32 * width)
        features = [ConvNormActivation(channels, inputs, 3, 1 if small else 2)]
        for factor, wanted, blocks, stride in (
            (1, 16, 1, 1), (6, 24, 2, 1 if small else 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1),
        ):  # fmt: skip
            for i in range(blocks):
                features.append(InvertedResidual(inputs, rounded(wanted * width), stride if i == 0 else 1, factor))
                inputs = rounded(wanted * width)
        last = rounded(1280 * max(1.0, width))
        features.append(ConvNormActivation(inputs, last, 1))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Dropout(dropout), nn.Linear(last, outputs))
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out")
            elif isinstance(module, nn.Linear):
                nn.init.normal_(module.weight, 0, 0.01)
                nn.init.zeros_(module.bias)

    def forward(self, x):
        return self.classifier(torch.flatten(F.adaptive_avg_pool2d(self.features(x), 1), 1))


class WideBlock(nn.Module):
    def __init__(self, inputs, outputs, stride):
        super().__init__()
        self.bn1 = nn.BatchNorm2d(inputs)
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(outputs)
        self.conv2 = nn.Conv2d(outputs, outputs, 3, 1, 1, bias=False)
        self.convShortcut = None if inputs == outputs else nn.Conv2d(inputs, outputs, 1, stride, bias=False)

    def forward(self, x):
        ready = F.relu(self.bn1(x))
        out = self.conv2(F.relu(self.bn2(self.conv1(ready))))
        return out + (x if self.convShortcut is None else self.convShortcut(ready))


class WideResNet(nn.Module):
    """xternalz/WideResNet-pytorch, the network of Zagoruyko and Komodakis for CIFAR."""

    def __init__(self, depth, widen, channels, outputs):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, 16, 3, 1, 1, bias=False)
        inputs = 16
        for stage, width in enumerate((16, 32, 64)):
            blocks = []
            for i in range((depth - 4) // 6):
                blocks.append(WideBlock(inputs, width * widen, 2 if i == 0 and stage > 0 else 1))
                inputs = width * widen
            block = nn.Module()
            block.layer = nn.Sequential(*blocks)
            setattr(self, f"block{stage + 1}", block)
        self.bn1 = nn.BatchNorm2d(inputs)
        self.fc = nn.Linear(inputs, outputs)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        nn.init.zeros_(self.fc.bias)

    def forward(self, x):
        x = self.block3.layer(self.block2.layer(self.block1.layer(self.conv1(x))))
        return self.fc(torch.flatten(F.adaptive_avg_pool2d(F.relu(self.bn1(x)), 1), 1))


class EncoderBlock(nn.Module):
    def __init__(self, heads, width, hidden):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width, eps=1e-6)
        self.self_attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.ln_2 = nn.LayerNorm(width, eps=1e-6)
        self.mlp = nn.Sequential(nn.Linear(width, hidden), nn.GELU(), nn.Dropout(0), nn.Linear(hidden, width), nn.Dropout(0))

    def forward(self, x):
        normal = self.ln_1(x)
        x = x + self.self_attention(normal, normal, normal, need_weights=False)[0]
        return x + self.mlp(self.ln_2(x))


class VisionTransformer(nn.Module):
    """torchvision.models.VisionTransformer, without its initialisation."""

    def __init__(self, channels, size, patch, layers, heads, width, hidden, outputs):
        super().__init__()
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        self.conv_proj = nn.Conv2d(channels, width, patch, patch)
        self.encoder = nn.Module()
        self.encoder.pos_embedding = nn.Parameter(torch.empty(1, (size // patch) ** 2 + 1, width).normal_(std=0.02))
        self.encoder.layers = nn.Sequential()
        for i in range(layers):
            self.encoder.layers.add_module(f"encoder_layer_{i}", EncoderBlock(heads, width, hidden))
        self.encoder.ln = nn.LayerNorm(width, eps=1e-6)
        self.heads = nn.Sequential()
        self.heads.add_module("head", nn.Linear(width, outputs))

    def forward(self, x):
        x = self.conv_proj(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.class_token.expand(len(x), -1, -1), x], 1) + self.encoder.pos_embedding
        return self.heads(self.encoder.ln(self.encoder.layers(x))[:, 0])


class EncoderDecoder(nn.Module):
    """nn.Transformer between an embedding with sinusoidal positions and a linear head."""

    def __init__(self, vocabulary, width, heads, encoder, decoder, hidden, start):
        super().__init__()
        self.start = start
        self.embedding = nn.Embedding(vocabulary, width)
        self.transformer = nn.Transformer(width, heads, encoder, decoder, hidden, 0.0, batch_first=True)
        self.fc = nn.Linear(width, vocabulary)

    def embedded(self, tokens):
        width = self.embedding.embedding_dim
        angle = torch.arange(tokens.shape[1])[:, None] / 10000 ** (torch.arange(0, width, 2) / width)
        positions = torch.zeros(tokens.shape[1], width)
        positions[:, 0::2], positions[:, 1::2] = angle.sin(), angle.cos()
        return self.embedding(tokens) * width**0.5 + positions

    def forward(self, source, target):
        shifted = torch.cat([torch.full_like(target[:, :1], self.start), target[:, :-1]], 1)
        causal = nn.Transformer.generate_square_subsequent_mask(target.shape[1])
        return self.fc(self.transformer(self.embedded(source), self.embedded(shifted), tgt_mask=causal))


class Tabular(nn.Module):
    def __init__(self, numbers, categories, widths, hidden, outputs):
        super().__init__()
        self.embeddings = nn.ModuleList(nn.Embedding(values, width) for values, width in zip(categories, widths))
        self.fc1 = nn.Linear(numbers + sum(widths), hidden)
        self.bn1 = nn.BatchNorm1d(hidden)
        self.head = nn.Linear(hidden, outputs)

    def forward(self, numbers, categories):
        columns = [embedding(categories[:, i]) for i, embedding in enumerate(self.embeddings)]
        return self.head(F.relu(self.bn1(self.fc1(torch.cat([numbers, *columns], 1)))))


class Lstm(nn.Module):
    def __init__(self, vocabulary, width, hidden, layers, bidirectional, outputs, per_token):
        super().__init__()
        self.embedding = nn.Embedding(vocabulary, width)
        self.lstm = nn.LSTM(width, hidden, layers, batch_first=True, bidirectional=bidirectional)
        self.fc = nn.Linear(hidden * (2 if bidirectional else 1), outputs)
        self.per_token = per_token

    def forward(self, tokens, mask=None):
        x = self.embedding(tokens)
        if self.per_token:
            return self.fc(self.lstm(x)[0])
        if mask is not None:
            x = nn.utils.rnn.pack_padded_sequence(x, mask.sum(1), batch_first=True, enforce_sorted=False)
        last = self.lstm(x)[1][0]
        return self.fc(torch.cat([last[-2], last[-1]], 1) if self.lstm.bidirectional else last[-1])
