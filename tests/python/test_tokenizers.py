"""tokenizer.json files give here the tokens and the text that HuggingFace's library gives."""

import json
import os
import pathlib
import subprocess

from run_helpers import main
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors,
                        trainers)

TOKENIZE = pathlib.Path(os.environ.get("RUNNER_BINARY_DIR", "build/release")) / "bin/tokenize"

CORPUS = """The quick brown fox jumps over the lazy dog. It's what they'd've said, isn't it? We'll see: 1234567890!
Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. ÄÖÜ äöü ß; naïve café, déjà vu, cliché.
Съешь же ещё этих мягких французских булок, да выпей чаю. Ξεσκεπάζω την ψυχοφθόρα βδελυγμία: ΟΔΟΣ.
我能吞下玻璃而不伤身体。私はガラスを食べられます。それは私を傷つけません。나는 유리를 먹을 수 있어요.
أنا قادر على أكل الزجاج و هذا لا يؤلمني. אני יכול לאכול זכוכית וזה לא מזיק לי. ฉันกินกระจกได้ แต่มันไม่ทำให้ฉันเจ็บ
मैं काँच खा सकता हूँ और मुझे उससे कोई चोट नहीं पहुंचती. Tôi có thể ăn thủy tinh mà không hại gì. İstanbul'da ışık
def f(x):\n\treturn x ** 2  # comment\n\n\nfor i in range(10):\n    print(f"{i:>3}")\r\n
😀 👍🏽 👨‍👩‍👧 🇩🇪 ☕️ e\u0301 n\u0303 ﬁ Ⅷ ½ ２ ① x² ~^`|<>=+-_$€£¥ […] “quotes” ‘single’ — – … • §
"""

TEXTS = CORPUS.splitlines() + [CORPUS] + [
    "", " ", "   ", "\n", "\n\n\n", " \n ", "\t", " leading", "trailing ", "  two  spaces  between   words  ",
    "a\nb", "a \n b", "line\r\nbreak\r\n\r\n", "don't DON'T Don’t I'm you've we're he'd she'll it's 'tis 's 'S",
    "123 1,234.56 12345678 ٣٤٥ १२३ ２０２４ Ⅻ ½", "x1y22z333", "UPPER lower MiXeD ÀÉÎÕÜ ΣΊΣΥΦΟΣ ǅ İI",
    "e\u0301 cafe\u0301 \u0301x A\u030a \u1e9b\u0323 ﬃ ™ ㎏", "unknown: ᚠᛇᚻ 𝒳 𐍈 \U0001F9FF\U0001FAE0",
    "zero\u200bwidth\u200cjoin\u200der non\u00a0breaking\u2003em\u3000ideographic", "\u0000\u0007\ufffd\ufeffbell",
    "中文English混合1文字2", "a▁b ▁ ▁▁c", "<s> hello</s><s>", "<s>hello </s> world  <mask> x<mask>y", " [CLS] a [SEP]",
    "##ing pre##fix", "<0x41> <0xE2>", "word" * 60, "!!!???...,,,;;;", "$100 a+b=c #tag @name a_b __init__", "\x0b\x0c\x85\u2028x",
    "special<|end|>middle <|end|>  stripped", "tok tokens atok tok", "supercalifragilisticexpialidocious",
]

LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
O200K = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def tokenize(what, folder, texts, *arguments):
    (folder / "texts.json").write_text(json.dumps(texts))
    done = subprocess.run([TOKENIZE, what, folder / "texts.json", *map(str, arguments)], capture_output=True, text=True,
                          timeout=100)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def save(folder, contents):
    """Each as a file of its own: one start of the program for all of them is a matter of seconds saved."""
    paths = [folder / f"{number}.json" for number in range(len(contents))]
    for path, content in zip(paths, contents):
        path.write_text(content)
    return paths


def compare(folder, *tokenizers, texts=TEXTS):
    paths = save(folder, [tokenizer.to_str() for tokenizer in tokenizers])
    for path, ours in zip(paths, tokenize("encode", folder, texts, *paths), strict=True):
        assert "error" not in ours, ours
        tokenizer = Tokenizer.from_file(str(path))
        ids = tokenizer.get_vocab(with_added_tokens=True).values()
        assert ours["vocabulary"] == max(ids) + 1, ours["vocabulary"]
        for text, result in zip(texts, ours["results"], strict=True):
            theirs = tokenizer.encode(text, add_special_tokens=False).ids
            assert result["ids"] == theirs, f"{text!r}: {result['ids']} here, {theirs} there"
            framed = tokenizer.encode(text).ids
            assert result["framed"] == framed, f"{text!r}: {result['framed']} here, {framed} there"
            decoded = tokenizer.decode(theirs)
            assert result["text"] == decoded, f"{text!r}: {result['text']!r} here, {decoded!r} there"
        assert sum(len(result["ids"]) for result in ours["results"]) > 100


def bpe_trained(normalizer=None, pre_tokenizer=None, decoder=None, alphabet=(), size=900, special=(), **options):
    tokenizer = Tokenizer(models.BPE(**options))
    tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.decoder = normalizer, pre_tokenizer, decoder
    more = {name: options[name] for name in ("continuing_subword_prefix", "end_of_word_suffix") if name in options}
    trainer = trainers.BpeTrainer(vocab_size=size, initial_alphabet=list(alphabet), special_tokens=list(special),
                                  show_progress=False, **more)
    tokenizer.train_from_iterator(CORPUS.splitlines(keepends=True), trainer)
    return tokenizer


def byte_level(pre_tokenizer, **options):
    return bpe_trained(pre_tokenizer=pre_tokenizer, decoder=decoders.ByteLevel(),
                       alphabet=pre_tokenizers.ByteLevel.alphabet(), **options)


def gpt2(folder):
    tokenizers = [byte_level(pre_tokenizers.ByteLevel(add_prefix_space=prefix), special=["<|end|>"])
                  for prefix in (False, True)]
    for tokenizer in tokenizers:
        tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    compare(folder, *tokenizers)


def special_tokens_are_text_unless_asked(folder):
    """As the library's own switch does it: nobody ends a message by writing its end."""
    tokenizer = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False), special=["<|end|>", "<s>", "</s>", "<mask>"])
    tokenizer.add_tokens([AddedToken("<think>", special=False, normalized=False)])
    tokenizer.encode_special_tokens = True
    texts = [*TEXTS, "a<|end|>b <think>c</think>", "<|end|>", "<s><think></s>"]
    ours, = tokenize("text", folder, texts, *save(folder, [tokenizer.to_str()]))
    for text, result in zip(texts, ours["results"], strict=True):
        assert result["ids"] == tokenizer.encode(text, add_special_tokens=False).ids, text
    assert tokenizer.token_to_id("<|end|>") not in [token for result in ours["results"] for token in result["ids"]]
    assert tokenizer.token_to_id("<think>") in ours["results"][-1]["ids"]


def gpt2_as_it_was_first_published(folder):
    tokenizer = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False))
    file = json.loads(tokenizer.to_str())
    model = file["model"]
    for key in ("type", "byte_fallback", "ignore_merges"):
        del model[key]
    model["continuing_subword_prefix"] = model["end_of_word_suffix"] = ""
    model["merges"] = [" ".join(pair) for pair in model["merges"]]
    del file["pre_tokenizer"]["use_regex"]
    new, old = tokenize("encode", folder, TEXTS, *save(folder, [tokenizer.to_str(), json.dumps(file)]))
    assert new == old


def llama3_and_others_with_a_split(folder):
    tokenizers = []
    for pattern in (LLAMA3, O200K, r"\w+|[^\w\s]+|\s+", r"^\s*\S|.$"):
        split = pre_tokenizers.Split(Regex(pattern), "isolated")
        tokenizer = byte_level(pre_tokenizers.Sequence([split, pre_tokenizers.ByteLevel(False, use_regex=False)]),
                               ignore_merges=True)
        tokenizer.add_special_tokens(["<s>", AddedToken("<|end|>", rstrip=True)])
        tokenizer.post_processor = processors.Sequence([
            processors.ByteLevel(),
            processors.TemplateProcessing("<s> $A", "<s> $A <s> $B", [("<s>", tokenizer.token_to_id("<s>"))])])
        tokenizers.append(tokenizer)
    compare(folder, *tokenizers)


def qwen(folder):
    steps = [pre_tokenizers.Split(Regex(LLAMA3.replace("{1,3}", "")), "isolated"),
             pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    tokenizer = byte_level(pre_tokenizers.Sequence(steps), normalizer=normalizers.NFC())
    tokenizer.add_tokens(["tok", AddedToken("<mask>", lstrip=True), AddedToken("word", single_word=True)])
    compare(folder, tokenizer)


def digits_and_punctuation(folder):
    sequences = ([pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(False), pre_tokenizers.Digits(False)],
                 [pre_tokenizers.Digits(True), pre_tokenizers.Punctuation("merged_with_next"),
                  pre_tokenizers.ByteLevel(True)],
                 [pre_tokenizers.Punctuation("merged_with_previous"), pre_tokenizers.ByteLevel(False)],
                 [pre_tokenizers.CharDelimiterSplit("a"), pre_tokenizers.ByteLevel(False)])
    compare(folder, *(byte_level(pre_tokenizers.Sequence(steps)) for steps in sequences))


BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


def llama2(folder):
    tokenizers = []
    for fuse in (True, False):
        tokenizer = bpe_trained(
            normalizer=normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]),
            decoder=decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                                       decoders.Strip(" ", 1, 0)]),
            special=["<unk>", "<s>", "</s>", *BYTES], unk_token="<unk>", fuse_unk=fuse, byte_fallback=True)
        file = json.loads(tokenizer.to_str())
        file["added_tokens"] = [token for token in file["added_tokens"] if token["content"] not in BYTES]
        tokenizer = Tokenizer.from_str(json.dumps(file))
        tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", "<s> $A </s> $B </s>",
                                                                 [("<s>", 1), ("</s>", 2)])
        tokenizers.append(tokenizer)
    compare(folder, *tokenizers)


def metaspace(folder):
    compare(folder, *(bpe_trained(pre_tokenizer=pre_tokenizers.Metaspace(prepend_scheme=scheme, split=split),
                                  decoder=decoders.Metaspace(prepend_scheme=scheme, split=split),
                                  special=["<unk>", "<s>"], unk_token="<unk>", fuse_unk=split)
                      for scheme in ("always", "first", "never") for split in (True, False)))


def unigram(folder):
    """As T5, ALBERT and XLM-R."""
    tokenizers = []
    for byte_fallback in (False, True):
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
        bytes_ = [f"<0x{byte:02X}>" for byte in range(256)] if byte_fallback else []
        trainer = trainers.UnigramTrainer(vocab_size=700, special_tokens=["<unk>", "</s>", *bytes_], unk_token="<unk>", show_progress=False)
        tokenizer.train_from_iterator(CORPUS.splitlines()[:4], trainer)
        file = json.loads(tokenizer.to_str())
        file["model"]["byte_fallback"] = byte_fallback
        file["added_tokens"] = file["added_tokens"][:2]
        tokenizers.append(Tokenizer.from_str(json.dumps(file)))
    compare(folder, *tokenizers)


def unknown_characters(folder):
    vocab = {"<unk>": 0, "a": 1, "b": 2, " ": 3, "ab": 4, "e": 5}
    compare(folder, *(Tokenizer(models.BPE(vocab=vocab, merges=[("a", "b")], **options))
                      for options in ({"unk_token": "<unk>"}, {"unk_token": "<unk>", "fuse_unk": True}, {})))


def clip(folder):
    tokenizer = bpe_trained(normalizer=normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "),
                                                             normalizers.Lowercase()]),
                            pre_tokenizer=pre_tokenizers.Split(Regex(r"'s|'t|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "removed",
                                                               invert=True),
                            decoder=decoders.BPEDecoder("</w>"), end_of_word_suffix="</w>", unk_token="<end>",
                            special=["<end>"])
    compare(folder, tokenizer, bpe_trained(pre_tokenizer=pre_tokenizers.Whitespace(), continuing_subword_prefix="@@",
                                           unk_token="<unk>", special=["<unk>"]))


def bert(folder):
    special, tokenizers = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], []
    for options in ({}, {"lowercase": False}, {"strip_accents": False}, {"lowercase": False, "strip_accents": True},
                    {"clean_text": False, "handle_chinese_chars": False}):
        tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=100))
        tokenizer.normalizer = normalizers.BertNormalizer(**options)
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        tokenizer.decoder = decoders.WordPiece()
        tokenizer.train_from_iterator(CORPUS.splitlines(), trainers.WordPieceTrainer(
            vocab_size=800, special_tokens=special, show_progress=False))
        tokenizer.post_processor = (processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2)) if options else
                                    processors.TemplateProcessing("[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1",
                                                                  [("[CLS]", 2), ("[SEP]", 3)]))
        tokenizers.append(tokenizer)
    compare(folder, *tokenizers)


def words(folder):
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.StripAccents(), normalizers.Strip()])
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.train_from_iterator(CORPUS.splitlines(), trainers.WordLevelTrainer(
        special_tokens=["<unk>", "<pad>"], show_progress=False))
    compare(folder, tokenizer)


def normal_forms(folder):
    forms = (normalizers.NFD(), normalizers.NFKC(), normalizers.NFKD(), normalizers.Lowercase(), normalizers.Strip(),
             normalizers.Strip(left=False), normalizers.StripAccents(), normalizers.ByteLevel())
    compare(folder, *(bpe_trained(normalizer=form, pre_tokenizer=pre_tokenizers.Punctuation(), unk_token="<unk>",
                                  decoder=decoders.ByteLevel() if isinstance(form, normalizers.ByteLevel) else None,
                                  special=["<unk>"]) for form in forms))


def learning_bpe_gives_what_their_trainer_gives(folder):
    texts, sizes = [CORPUS, CORPUS[:500]], (257, 400, 5000)
    learnt = tokenize("learn", folder, texts, *sizes)
    for size, ours in zip(sizes, learnt, strict=True):
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
            vocab_size=size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
        theirs = json.loads(tokenizer.to_str())["model"]
        assert ours["model"]["vocab"] == theirs["vocab"], size
        assert ours["model"]["merges"] == theirs["merges"], size
    compare(folder, *(Tokenizer.from_str(json.dumps(ours)) for ours in learnt))


def what_is_not_supported_is_named(folder):
    good = json.loads(byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False), size=300).to_str())
    cases = []

    def refused(words, text=None, **changes):
        cases.append((words, json.dumps({**good, **changes}) if text is None else text))

    model = good["model"]
    refused("a vocab that is not a list of tokens", model={"type": "Unigram", "vocab": [], "unk_id": 0})
    refused("an unk_id that is not in its vocab", model={"type": "Unigram", "vocab": [["a", -1.0]], "unk_id": 5})
    refused("has byte_fallback, but no token <0x00>", model={"type": "Unigram", "vocab": [["a", -1.0]], "unk_id": 0, "byte_fallback": True})
    refused('its model of type "Trigram" is not supported', model={"type": "Trigram", "vocab": []})
    refused('its normalizer of type "Precompiled"', normalizer={"type": "Precompiled", "precompiled_charsmap": ""})
    refused('its pre_tokenizer of type "UnicodeScripts"', pre_tokenizer={"type": "UnicodeScripts"})
    refused('its decoder of type "CTC"', decoder={"type": "CTC", "pad_token": "p"})
    refused('its post_processor of type "Other"', post_processor={"type": "Other"})
    refused("has a dropout", model={**model, "dropout": 0.1})
    refused('its model has "new_feature", which is not supported', model={**model, "new_feature": True})
    refused('its top level has "future"', future=1)
    refused('its pre_tokenizer has "odd"', pre_tokenizer={**good["pre_tokenizer"], "odd": 1})
    refused("behavior", pre_tokenizer={"type": "Split", "pattern": {"String": " "}, "behavior": "Elsewhere", "invert": False})
    refused("cannot be understood", pre_tokenizer={"type": "Split", "pattern": {"Regex": "(a"}, "behavior": "Isolated",
                                                   "invert": False})
    refused('"zzz", which is not in its vocabulary', model={**model, "merges": [["zz", "z"]], "vocab": {"zz": 0, "z": 1}})
    refused("not a pair of tokens", model={**model, "merges": [3]})
    refused("the number -1", model={**model, "vocab": {"a": -1}, "merges": []})
    refused('no token "<unk>", its unk_token', model={**model, "unk_token": "<unk>"})
    refused("wrong kind", model={**model, "fuse_unk": "yes"})
    refused('its top level has no "model"', text='{"version": "1.0"}')
    refused("not a JSON object", text="[]")
    refused("cannot be used as a tokenizer", text='{"version":')
    refused("is empty", text="")
    paths = save(folder, [text for _, text in cases])
    for (words, _), path, result in zip(cases, paths, tokenize("encode", folder, [], *paths), strict=True):
        assert words in result.get("error", "") and str(path) in result["error"], (words, result)


if __name__ == "__main__":
    main([gpt2, special_tokens_are_text_unless_asked, gpt2_as_it_was_first_published, llama3_and_others_with_a_split, qwen, digits_and_punctuation, llama2,
          metaspace, unigram, unknown_characters, clip, bert, words, normal_forms, learning_bpe_gives_what_their_trainer_gives,
          what_is_not_supported_is_named])
