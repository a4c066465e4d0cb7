"""Every metric of scikit-learn that the runner has, written to metrics.txt: with ties, and with classes that never occur."""

import warnings

import numpy
import torch
from sklearn import metrics
from sklearn.preprocessing import label_binarize

import reference

EXAMPLES = 61


def rounded(count, start, shape=None):
    """Multiples of 1/4, so that many are equal."""
    return (torch.round(4 * reference.wave(count, start, shape)) / 4).double()


def labels(classes, start):
    """Below `classes`, in no simple order."""
    return torch.floor((reference.wave(EXAMPLES, start).double() + 1) / 2.001 * classes).long().numpy()


def class_scores(name, right, answers):
    for average in ("macro", "micro", "weighted"):
        for kind in ("precision", "recall", "f1"):
            yield f"{name}.{kind}_{average}", [getattr(metrics, f"{kind}_score")(right, answers, average=average)]


def lines():
    warnings.simplefilter("ignore")  # of divisions by zero, which are part of the test
    # Five classes of which 3 never occurs and 4 is neither answered nor right.
    outputs = rounded(EXAMPLES * 5, 0.3, (EXAMPLES, 5))
    outputs[:, 4] = -9
    right = labels(3, 1.1)
    yield from class_scores("classes", right, outputs.argmax(1).numpy())
    # Not rounded: probabilities that are equal on paper are ties on one processor and not on another.
    ranked = reference.wave(EXAMPLES * 5, 0.3, (EXAMPLES, 5)).double()
    ranked[:, 4] = -9
    probabilities = ranked.softmax(1).numpy()
    yield "classes.auroc", [metrics.roc_auc_score(right, probabilities, multi_class="ovr", labels=range(5))]
    yield "classes.average_precision", [metrics.average_precision_score(label_binarize(right, classes=range(5)), probabilities)]

    # All five occur.
    everything = labels(5, 1.1)
    yield "all.auroc", [metrics.roc_auc_score(everything, probabilities, multi_class="ovr")]
    yield "all.average_precision", [metrics.average_precision_score(label_binarize(everything, classes=range(5)), probabilities)]
    yield from class_scores("all", everything, outputs.argmax(1).numpy())

    # Two classes: one score for each example.
    scores = rounded(EXAMPLES, 0.5).numpy()
    yes = labels(2, 2.3)
    for kind in ("precision", "recall", "f1"):
        yield f"binary.{kind}", [getattr(metrics, f"{kind}_score")(yes, scores > 0)]
    yield "binary.accuracy", [metrics.accuracy_score(yes, scores > 0)]
    yield "binary.auroc", [metrics.roc_auc_score(yes, scores)]
    yield "binary.average_precision", [metrics.average_precision_score(yes, scores)]
    one_class = numpy.ones(EXAMPLES, dtype=int)
    yield "ones.auroc", [metrics.roc_auc_score(one_class, scores)]
    yield "ones.average_precision", [metrics.average_precision_score(one_class, scores)]
    yield "zeros.auroc", [metrics.roc_auc_score(0 * one_class, scores)]
    yield "zeros.average_precision", [metrics.average_precision_score(0 * one_class, scores)]
    yield "zeros.f1", [metrics.f1_score(0 * one_class, scores > 0)]

    # Averages over classes that rank.
    for average in ("macro", "micro", "weighted"):
        yield f"all.auroc_{average}", [metrics.roc_auc_score(everything, probabilities, multi_class="ovr", average=average)]
        yield f"all.average_precision_{average}", [
            metrics.average_precision_score(label_binarize(everything, classes=range(5)), probabilities, average=average)]

    # Several labels of yes or no for each example; the last one is never right and never answered.
    label_scores = rounded(EXAMPLES * 4, 0.7, (EXAMPLES, 4)).numpy()
    label_scores[:, 3] = -1
    wanted = (reference.wave(EXAMPLES * 4, 1.9, (EXAMPLES, 4)) > 0.2).numpy().astype(int)
    wanted[:, 3] = 0
    answered = label_scores > 0
    yield "labels.accuracy", [metrics.accuracy_score(wanted, answered)]
    yield "labels.accuracy_each", [(wanted == answered).mean()]  # torchmetrics' MultilabelAccuracy
    for average in ("macro", "micro", "weighted", "samples"):
        for kind in ("precision", "recall", "f1"):
            yield f"labels.{kind}_{average}", [getattr(metrics, f"{kind}_score")(wanted, answered, average=average)]
    for average in ("macro", "micro", "weighted"):
        yield f"labels.auroc_{average}", [metrics.roc_auc_score(wanted[:, :3], label_scores[:, :3], average=average)]
        yield f"labels.average_precision_{average}", [metrics.average_precision_score(wanted[:, :3], label_scores[:, :3], average=average)]
    yield "labels.balanced_accuracy", [numpy.mean([metrics.balanced_accuracy_score(wanted[:, i], answered[:, i]) for i in range(4)])]
    yield "labels.confusion", metrics.multilabel_confusion_matrix(wanted, answered).ravel().tolist()

    # Regression, far from zero: sums of squares would cancel. The last column of the targets never varies.
    target = 1000 + reference.wave(EXAMPLES * 3, 0.2, (EXAMPLES, 3)).double()
    target = target.float().double()
    target[:, 2] = 1000
    output = (target + 0.3 * reference.wave(EXAMPLES * 3, 0.9, (EXAMPLES, 3))).float().double()
    for name, columns in {"three": slice(0, 3), "varying": slice(0, 2), "one": 0}.items():
        pair = target[:, columns].numpy(), output[:, columns].numpy()
        yield f"{name}.mae", [metrics.mean_absolute_error(*pair)]
        yield f"{name}.rmse", [metrics.root_mean_squared_error(*pair)]
        yield f"{name}.r2", [metrics.r2_score(*pair)]
    yield "met.r2", [metrics.r2_score(target[:, 2].numpy(), target[:, 2].numpy())]
    yield "single.r2", [metrics.r2_score(target[:1, 0].numpy(), output[:1, 0].numpy())]


if __name__ == "__main__":
    reference.main("metrics.txt", lines, digits=17)
