"""Models of torchvision, timm, transformers and PyTorch, exported once and trained for 10 steps here and in eager PyTorch.

    tests/campaigns/exported_models.py [NAME ..]

Losses must agree to 1e-5, outputs in evaluation to 1e-6. Packages that are not installed are left out, and counted.
"""

import importlib
import os
import sys
import tempfile
import time
import unittest.mock
import warnings
import logging
from pathlib import Path

os.environ["OMP_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python"))
import torch
from torch import nn

from exported_helpers import ExportedCase

warnings.filterwarnings("ignore")
logging.disable(logging.WARNING)
torch.set_num_threads(1)
MODELS = {}
# Models with operators that are not PyTorch's own, and what the message has to name.
REFUSED = {"transformers_mixtral": 'calls the operator "transformers::grouped_mm_fallback"'}


def optional(name):
    """The wheel of torchvision looks for operators that are compiled for CUDA only; its models do not use them."""
    try:
        with unittest.mock.patch("torch.library.register_fake", lambda *a, **k: (lambda function: function)):
            return importlib.import_module(name)
    except ImportError:
        return None


torchvision, timm, transformers = optional("torchvision"), optional("timm"), optional("transformers")


class Case:
    def __init__(self, model, arguments, target, classes=0, vocabulary=0, **options):
        self.model, self.arguments, self.target = model, arguments, target
        self.classes, self.vocabulary, self.options = classes, vocabulary, options


def register(name):
    def add(function):
        MODELS[name] = function
        return function

    return add


def images(model, size, count=2, name="x"):
    return Case(model, {name: torch.randn(count, 3, size, size)}, torch.randint(0, 10, (count,)), classes=10)


def texts(model, vocabulary=97, length=24, name="input_ids", **options):
    return Case(model, {name: torch.randint(0, vocabulary, (4, length))}, torch.randint(0, vocabulary, (4, length)), vocabulary, vocabulary, main=name, **options)


def sentences(model, name="input_ids", classes=3, **options):
    return Case(model, {name: torch.randint(5, 97, (4, 24))}, torch.randint(0, classes, (4,)), classes, 97, main=name, **options)


if torchvision:
    vision = importlib.import_module("torchvision.models")
    large = {"vit_b_32": 224, "maxvit_t": 224, "swin_t": 224, "alexnet": 224, "vgg11_bn": 224, "inception_v3": 96}
    for name in ("resnet18", "mobilenet_v3_small", "efficientnet_b0", "densenet121", "shufflenet_v2_x0_5", "squeezenet1_1", "convnext_tiny", "swin_t",
                 "vit_b_32", "googlenet", "regnet_y_400mf", "mnasnet0_5", "alexnet", "vgg11_bn", "inception_v3", "maxvit_t"):
        def build(name=name):
            more = {"aux_logits": False, "init_weights": True} if name in ("googlenet", "inception_v3") else {}
            return images(getattr(vision, name)(num_classes=10, **more), large.get(name, 64), name="inputs" if name == "mobilenet" else "x")

        MODELS["torchvision_" + name] = build

    @register("torchvision_fcn_resnet50")
    def segmentation():
        model = vision.segmentation.fcn_resnet50(weights=None, weights_backbone=None, num_classes=5, aux_loss=False)
        return Case(model, {"x": torch.randn(2, 3, 64, 64)}, torch.randint(0, 5, (2, 64, 64)), 5, output="out")

    @register("torchvision_deeplabv3_mobilenet")
    def deeplab():
        model = vision.segmentation.deeplabv3_mobilenet_v3_large(weights=None, weights_backbone=None, num_classes=5)
        return Case(model, {"x": torch.randn(2, 3, 64, 64)}, torch.randint(0, 5, (2, 64, 64)), 5, output="out")

    @register("torchvision_retinanet_heads")
    def detection():
        class Heads(nn.Module):
            def __init__(self):
                super().__init__()
                whole = vision.detection.retinanet_resnet50_fpn(weights=None, weights_backbone=None, num_classes=4)
                self.backbone, self.head = whole.backbone, whole.head

            def forward(self, x):
                return self.head(list(self.backbone(x).values()))["bbox_regression"]

        return Case(Heads(), {"x": torch.randn(2, 3, 64, 64)}, None)


if timm:
    for name in ("resnet18", "vit_tiny_patch16_224", "efficientnet_lite0", "mixer_s32_224", "convmixer_768_32", "deit_tiny_patch16_224", "mobilevit_xxs",
                 "poolformer_s12", "ghostnet_050", "repvgg_a0", "xcit_nano_12_p16_224", "edgenext_xx_small", "nfnet_l0", "levit_128s", "coat_lite_tiny",
                 "visformer_tiny", "cait_xxs24_224", "pit_ti_224", "twins_pcpvt_small", "beit_base_patch16_224", "regnetx_002", "tf_efficientnetv2_b0",
                 "convnextv2_atto", "mobilenetv4_conv_small", "fastvit_t8", "efficientformer_l1", "swiftformer_xs", "maxvit_pico_rw_256"):
        def build(name=name):
            wide = "224" in name or name in ("levit_128s", "coat_lite_tiny", "poolformer_s12", "visformer_tiny", "efficientformer_l1", "swiftformer_xs")
            return images(timm.create_model(name, num_classes=10), 256 if "256" in name else 224 if wide else 128)

        MODELS["timm_" + name] = build


class Logits(nn.Module):
    def __init__(self, model, **options):
        super().__init__()
        self.model, self.options = model, options

    def forward(self, input_ids):
        return self.model(input_ids=input_ids, **self.options).logits


if transformers:
    T = transformers
    tiny = dict(vocab_size=97, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=64)
    for name, more in {"Llama": {}, "Mistral": dict(num_key_value_heads=2), "Qwen2": dict(num_key_value_heads=2), "Qwen3": dict(num_key_value_heads=2, head_dim=8),
                       "Gemma": dict(num_key_value_heads=2, head_dim=8), "Gemma2": dict(num_key_value_heads=2, head_dim=8), "Phi": {}, "Phi3": dict(pad_token_id=0),
                       "GPTNeoX": {}, "Olmo": {}, "OPT": dict(ffn_dim=64, word_embed_proj_dim=32), "Falcon": {}, "Starcoder2": dict(num_key_value_heads=2),
                       "Mamba": {}, "Bloom": dict(n_head=4, n_layer=2), "SmolLM3": dict(num_key_value_heads=2, pad_token_id=0), "StableLm": dict(num_key_value_heads=2),
                       "Cohere": dict(num_key_value_heads=2), "GPTJ": dict(n_embd=32, n_layer=2, n_head=4, rotary_dim=4, n_positions=64), "Granite": dict(num_key_value_heads=2),
                       "GPTBigCode": dict(n_embd=32, n_layer=2, n_head=4, n_positions=64), "Olmo2": dict(num_key_value_heads=2), "Nemotron": dict(num_key_value_heads=2),
                       "Mixtral": dict(num_key_value_heads=2, num_local_experts=4)}.items():
        def build(name=name, more=more):
            config, options = getattr(T, name + "Config"), {**tiny, "pad_token_id": 0, **more}
            return texts(Logits(getattr(T, name + "ForCausalLM")(config(**options)), use_cache=False))

        MODELS["transformers_" + name.lower()] = build

    @register("transformers_gpt2")
    def gpt2():
        return texts(Logits(T.GPT2LMHeadModel(T.GPT2Config(vocab_size=97, n_embd=32, n_layer=2, n_head=4, n_positions=64)), use_cache=False))

    for name, more in {"Bert": {}, "DistilBert": dict(dim=32, hidden_dim=64, n_layers=2, n_heads=4), "Roberta": {}, "Electra": dict(embedding_size=32), "DebertaV2": {},
                       "ModernBert": {}, "Albert": dict(embedding_size=16), "MPNet": {}, "Camembert": {}, "XLMRoberta": {},
                       "SqueezeBert": dict(embedding_size=32), "ConvBert": dict(embedding_size=32), "RoFormer": {}}.items():
        def build(name=name, more=more):
            config = getattr(T, name + "Config")(**{**tiny, "num_labels": 3, "pad_token_id": 0, **more})
            return sentences(Logits(getattr(T, name + "ForSequenceClassification")(config)))

        MODELS["transformers_" + name.lower()] = build

    @register("transformers_t5")
    def t5():
        class Both(nn.Module):
            def __init__(self):
                super().__init__()
                self.model = T.T5ForConditionalGeneration(T.T5Config(vocab_size=97, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0))

            def forward(self, input_ids):
                return self.model(input_ids=input_ids, decoder_input_ids=input_ids, use_cache=False).logits

        return texts(Both())

    @register("transformers_whisper_encoder")
    def whisper():
        class Encoder(nn.Module):
            def __init__(self):
                super().__init__()
                config = T.WhisperConfig(vocab_size=97, d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                                         encoder_ffn_dim=64, decoder_ffn_dim=64, max_source_positions=50, pad_token_id=0, bos_token_id=1, eos_token_id=2)
                self.encoder, self.head = T.WhisperModel(config).encoder, nn.Linear(32, 10)

            def forward(self, x):
                return self.head(self.encoder(x).last_hidden_state.mean(1))

        return Case(Encoder(), {"x": torch.randn(2, 80, 100)}, torch.randint(0, 10, (2,)), 10)

    @register("transformers_wav2vec2")
    def wav2vec2():
        class Speech(nn.Module):
            def __init__(self):
                super().__init__()
                self.model = T.Wav2Vec2ForSequenceClassification(T.Wav2Vec2Config(
                    hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, conv_dim=(16, 16), conv_stride=(5, 2), conv_kernel=(10, 3),
                    num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=2, num_labels=5, apply_spec_augment=False, layerdrop=0.0, classifier_proj_size=16))

            def forward(self, x):
                return self.model(x).logits

        return Case(Speech(), {"x": torch.randn(2, 1000)}, torch.randint(0, 5, (2,)), 5)

    @register("transformers_clip_towers")
    def clip():
        class Towers(nn.Module):
            def __init__(self):
                super().__init__()
                part = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4, projection_dim=16)
                self.vision = T.CLIPVisionModelWithProjection(T.CLIPVisionConfig(image_size=32, patch_size=8, **part))
                self.text = T.CLIPTextModelWithProjection(T.CLIPTextConfig(vocab_size=97, max_position_embeddings=32, **part))
                self.register_buffer("words", torch.randint(0, 97, (10, 8)))

            def forward(self, x):
                image, text = self.vision(x).image_embeds, self.text(self.words).text_embeds
                return 10 * nn.functional.normalize(image) @ nn.functional.normalize(text).T

        return images(Towers(), 32)

    @register("transformers_vit")
    def vit():
        class Images(nn.Module):
            def __init__(self):
                super().__init__()
                self.model = T.ViTForImageClassification(T.ViTConfig(image_size=32, patch_size=8, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64, num_labels=10))

            def forward(self, x):
                return self.model(x).logits

        return images(Images(), 32)

    @register("transformers_segformer")
    def segformer():
        class Pixels(nn.Module):
            def __init__(self):
                super().__init__()
                self.model = T.SegformerForSemanticSegmentation(T.SegformerConfig(hidden_sizes=[16, 16, 32, 32], depths=[1, 1, 1, 1], num_attention_heads=[1, 1, 2, 2], decoder_hidden_size=32, num_labels=5))

            def forward(self, x):
                return self.model(x).logits

        return Case(Pixels(), {"x": torch.randn(2, 3, 64, 64)}, torch.randint(0, 5, (2, 16, 16)), 5)


class Recurrent(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.embed, self.layers, self.head = nn.Embedding(97, 32), kind(32, 32, 2, batch_first=True, dropout=0.1), nn.Linear(32, 97)

    def forward(self, input_ids):
        return self.head(self.layers(self.embed(input_ids))[0])


for kind in (nn.LSTM, nn.GRU, nn.RNN):
    MODELS["nn_" + kind.__name__.lower()] = lambda kind=kind: texts(Recurrent(kind))


@register("nn_unet")
def unet():
    def block(inputs, outputs):
        return nn.Sequential(nn.Conv2d(inputs, outputs, 3, padding=1), nn.GroupNorm(4, outputs), nn.SiLU(), nn.Dropout2d(0.1))

    class UNet(nn.Module):
        def __init__(self):
            super().__init__()
            self.down, self.deep, self.up = block(3, 16), block(16, 32), block(48, 16)
            self.head = nn.Conv2d(16, 5, 1)

        def forward(self, x):
            skip = self.down(x)
            deep = nn.functional.interpolate(self.deep(nn.functional.max_pool2d(skip, 2)), scale_factor=2.0, mode="bilinear")
            return self.head(self.up(torch.cat([skip, deep], 1)))

    return Case(UNet(), {"x": torch.randn(2, 3, 32, 32)}, torch.randint(0, 5, (2, 32, 32)), 5)


@register("nn_graph")
def graph():
    """Messages between the nodes of a fixed graph: gather, scatter and index operations."""
    class Graph(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two, self.head = nn.Linear(8, 16), nn.Linear(16, 16), nn.Linear(16, 3)
            self.register_buffer("edges", torch.randint(0, 12, (2, 40)))

        def forward(self, x):
            for layer in (self.one, self.two):
                x = torch.relu(layer(x))
                x = x + torch.zeros_like(x).index_add(1, self.edges[1], x[:, self.edges[0]])
            return self.head(x.amax(1))

    return Case(Graph(), {"x": torch.randn(4, 12, 8)}, torch.randint(0, 3, (4,)), 3)


@register("nn_mixture")
def mixture():
    """A table and a category for each example: two inputs."""
    class Mixture(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.gate, self.experts = nn.Embedding(7, 8), nn.Linear(14, 4), nn.Linear(14, 4 * 3)

        def forward(self, input_ids, mask):
            x = self.embed(input_ids).mean(1) * mask.float().mean(1, keepdim=True)
            x = torch.cat([x, x[:, :6].cumsum(1)], 1)
            return torch.einsum("bg,bgc->bc", self.gate(x).softmax(1), self.experts(x).view(-1, 4, 3))

    tokens = torch.randint(0, 7, (4, 5))
    return Case(Mixture(), {"input_ids": tokens, "mask": tokens > 2}, torch.randint(0, 3, (4,)), 3, 97, main="input_ids")


@register("nn_transformer_encoder")
def encoder():
    class Encoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Embedding(97, 32), nn.Linear(32, 3)
            self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, 0.1, batch_first=True), 2, enable_nested_tensor=False)

        def forward(self, input_ids):
            return self.head(self.layers(self.embed(input_ids)).mean(1))

    return sentences(Encoder())


@register("nn_autoencoder")
def autoencoder():
    model = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ELU(), nn.ConvTranspose2d(8, 3, 2, 2), nn.Sigmoid())
    x = torch.rand(4, 3, 16, 16)
    return Case(model, {"input": x}, x.clone(), main="input")


class Campaign(ExportedCase):
    def runTest(self):
        pass


def main():
    wanted, results = sys.argv[1:], {}
    for name, build in MODELS.items():
        if wanted and not any(word in name for word in wanted):
            continue
        case = Campaign()
        with tempfile.TemporaryDirectory() as folder:
            case.folder = Path(folder)
            began = time.monotonic()
            try:
                torch.manual_seed(1)
                made = build()
                torch.manual_seed(0)
                options = {"main": next(iter(made.arguments))} | made.options
                gap, ours, theirs = case.compare(made.model, made.arguments, made.target, classes=made.classes, vocabulary=made.vocabulary, **options)
                results[name] = "ok"
                print(f"ok       {name:36s} gap {gap:.1e}  step {1e3 * ours:8.2f} ms, eager {1e3 * theirs:8.2f} ms ({ours / theirs:.2f})  {time.monotonic() - began:.0f} s", flush=True)
            except AssertionError as error:
                if name in REFUSED and REFUSED[name] in str(error):
                    results[name] = "refused"
                    print(f"refused  {name:36s} {REFUSED[name]}", flush=True)
                    continue
                results[name] = "different"
                print(f"DIFFERS  {name:36s} {str(error).strip()[-600:]}", flush=True)
            except Exception as error:
                results[name] = "not exported"
                print(f"NO FILE  {name:36s} {type(error).__name__}: {str(error).strip()[:300]!r}", flush=True)
    count = {state: list(results.values()).count(state) for state in ("ok", "different", "refused", "not exported")}
    absent = [name for name, module in (("torchvision", torchvision), ("timm", timm), ("transformers", transformers)) if not module]
    print(f"{count['ok']} of {len(results)} equal, {count['different']} different, {count['refused']} refused as they should be, {count['not exported']} could not be exported"
          + (f"; not installed: {', '.join(absent)}" if absent else ""))
    return 1 if count["different"] else 0


if __name__ == "__main__":
    sys.exit(main())
