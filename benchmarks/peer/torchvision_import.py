"""Lets torchvision be imported where its compiled part does not fit the installed torch: a CUDA build beside a CPU build. Only
detection operators live there, which nothing here uses, so that their names are enough."""
from importlib import metadata

import torch

if torch.version.cuda is None and "+cpu" not in metadata.version("torchvision"):
    names = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms", "roi_align", "_roi_align_backward", "qroi_align", "ps_roi_align", "_ps_roi_align_backward",
                 "roi_pool", "_roi_pool_backward", "ps_roi_pool", "_ps_roi_pool_backward", "deform_conv2d",
                 "_deform_conv2d_backward"):
        names.define(f"{name}(Tensor input) -> Tensor")
