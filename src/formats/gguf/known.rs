//! Checks of metadata that has crashed loaders: the lengths of keys, and the types, lengths and ranges of well-known values.
//!
//! Keys come in any order, and the known counts depend on the architecture. So the positions of keys that may be known are
//! stored while the metadata is parsed, and their values are checked at its end. zten uses none of the values, so a file that
//! breaks one of these rules can be opened. Only checking the file reports the broken rule.

use core::fmt;

use crate::escape::Short;
use crate::finding::counted;
use crate::formats::error::FormatError;
use crate::formats::rules::Rule;
use crate::num::usize_from_u32;

use super::input::{Input, Stop};
use super::value::{ARRAY, F32, I8, I16, I32, I64, STRING, U8, U16, U32, U64};

/// The metadata key whose value is the name of the model's architecture, such as `llama`.
const ARCHITECTURE: &str = "general.architecture";
/// The prefix of the metadata keys that describe the tokenizer.
const TOKENIZER: &str = "tokenizer.ggml.";
const TOKENS: &str = "tokens";
const TYPES: &str = "token_type";
/// The suffix, after the name of the architecture, of the metadata key for the number of attention heads.
const HEADS: &str = ".attention.head_count";
/// The suffix, after the name of the architecture, of the metadata key for the number of experts.
const EXPERTS: &str = ".expert_count";
/// The suffix, after the name of the architecture, of the metadata key for the number of experts that are used for each
/// token.
const EXPERTS_USED: &str = ".expert_used_count";

/// The names of the architectures whose counts are checked, separated by spaces: language models that consist of blocks.
const ARCHITECTURES: &str = "afmoe apertus arcee arctic baichuan bailingmoe bailingmoe2 bert bitnet bloom chameleon \
    chatglm codeshell cogvlm cohere2 cohere2moe command-r dbrx deci deepseek deepseek2 deepseek2-ocr deepseek32 dots1 \
    dream ernie4_5 ernie4_5-moe eurobert exaone exaone-moe exaone4 falcon falcon-h1 gemma gemma-embedding gemma2 gemma3 \
    gemma3n gemma4 glm-dsa glm4 glm4moe gpt-oss gpt2 gptj gptneox granite granitehybrid granitemoe grok grovemoe \
    hunyuan-dense hunyuan-moe hunyuan_vl internlm2 jais jais2 jamba jina-bert-v2 jina-bert-v3 kimi-linear lfm2 lfm2moe \
    llada llada-moe llama llama-embed llama4 maincoder mellum mimo2 minicpm minicpm3 minimax-m2 mistral3 mistral4 \
    modern-bert mpt nemotron nemotron_h nemotron_h_moe neo-bert nomic-bert nomic-bert-moe olmo olmo2 olmoe openelm \
    orion paddleocr pangu-embedded phi2 phi3 phimoe plamo plamo2 plamo3 plm qwen qwen2 qwen2moe qwen2vl qwen3 qwen35 \
    qwen35moe qwen3moe qwen3next qwen3vl qwen3vlmoe refact rnd1 seed_oss smallthinker smollm3 stablelm starcoder \
    starcoder2 step35 t5 t5encoder xverse";
/// The names of architectures without attention, separated by spaces. Their writers set the number of attention heads to 0.
const RECURRENT: &str = "arwkv7 mamba mamba2 rwkv6 rwkv6qwen2 rwkv7";

/// The arrays of the tokenizer: the end of the metadata key after [`TOKENIZER`], the GGUF numbers of the two types that
/// elements may have, and the names of these types for messages.
const ARRAYS: [(&str, [u32; 2], &str); 5] = [
    (TOKENS, [STRING, STRING], "string"),
    ("merges", [STRING, STRING], "string"),
    ("scores", [F32, F32], "f32"),
    (TYPES, [I32, U32], "i32 or u32"),
    ("suppress_tokens", [I32, U32], "i32 or u32"),
];
/// The arrays of the tokenizer that must have one element for each token: the ends of their keys after [`TOKENIZER`].
const EACH_TOKEN: [&str; 2] = ["scores", TYPES];

/// The names of special tokens, separated by spaces. The metadata key for the id of such a token is [`TOKENIZER`], the name,
/// and [`TOKEN_ID`]. Most writers use the misspelling "seperator".
const SPECIAL: &str = "bos eos eot eom unknown seperator separator padding cls mask prefix suffix middle fim_pre \
    fim_suf fim_mid fim_pad fim_rep fim_sep";
const TOKEN_ID: &str = "_token_id";

/// The checked counts: the suffix of the key, the smallest and largest value, and whether the value may be an array with a
/// number for each block. For an array, only the largest number must reach the smallest allowed value, since hybrid models
/// have blocks without attention.
const COUNTS: [(&str, u64, u64, bool); 8] = [
    (".block_count", 1, 1 << 10, false),
    (".context_length", 0, UNSIGNED, false),
    (".embedding_length", 1, SIGNED, false),
    (".feed_forward_length", 0, SIGNED, true),
    (HEADS, 1, SIGNED, true),
    (".attention.head_count_kv", 1, SIGNED, true),
    (EXPERTS, 0, 1 << 12, true),
    (EXPERTS_USED, 0, 1 << 12, true),
];
/// The largest value of a signed integer of 32 bits.
const SIGNED: u64 = (1 << 31) - 1;
const UNSIGNED: u64 = (1 << 32) - 1;

/// The names of the types of metadata values, separated by spaces, in the order of their GGUF numbers from 0 on.
const NAMES: &str = "u8 i8 u16 i16 u32 i32 f32 bool string array u64 i64 f64";
/// The number in the array `tokenizer.ggml.token_type` that marks a token as a byte token, such as `<0x0A>`.
const BYTE: u32 = 6;
const BYTE_START: &[u8] = b"<0x";

/// Returns whether `list`, words separated by spaces, contains the word `name`.
fn is_in(list: &str, name: &str) -> bool {
    list.split(' ').any(|other| other == name)
}

/// The largest length in bytes of a metadata key.
const KEY: usize = 65535;

/// Returns whether the metadata key `key` has an allowed length, 1 to [`KEY`] bytes.
fn is_valid(key: &str) -> bool {
    (1..=KEY).contains(&key.len())
}

/// Returns whether [`check`] has to look at the metadata key `key`: because its length is not allowed, or because its value
/// may be a well-known one.
pub(super) fn is_known(key: &str) -> bool {
    !is_valid(key)
        || key == ARCHITECTURE
        || key.starts_with(TOKENIZER)
        || COUNTS.iter().any(|(end, ..)| key.ends_with(end))
}

/// Checks the metadata keys for which [`is_known`] is true, and their values. `keys` are the offsets of these keys in the
/// file. The metadata has been parsed before. Calls `found` with an error for each key that breaks a rule.
///
/// # Errors
/// Out of memory.
pub(super) fn check(
    input: Input<'_>,
    keys: &[u64],
    found: &mut dyn FnMut(FormatError),
) -> Result<(), Stop> {
    let mut report = |checked: Result<(), Stop>| match checked {
        Err(Stop::Failed(error @ FormatError::Violation(_))) => {
            found(error);
            Ok(())
        }
        other => other,
    };
    let entries = || keys.iter().map(|at| MetadataEntry::read(input.seek(*at)));
    let find = |start: &str, end: &str| {
        let mut entries = entries().filter_map(Result::ok);
        entries.find(|entry| entry.key.strip_prefix(start) == Some(end))
    };
    let mut architecture = "";
    if let Some(mut entry) = find(ARCHITECTURE, "") {
        if entry.kind == STRING && entry.length.is_none() {
            architecture = entry.content.text("a string")?;
        } else {
            let stop = entry.other_type(Rule::GgufArchitecture, "a string");
            report(Err(stop.about(ARCHITECTURE)))?;
        }
    }
    let is_recurrent = is_in(RECURRENT, architecture);
    let (tokens, types) = (find(TOKENIZER, TOKENS), find(TOKENIZER, TYPES));
    let facts = Facts {
        architecture: (is_recurrent || is_in(ARCHITECTURES, architecture)).then_some(architecture),
        is_recurrent,
        tokens: tokens.and_then(|entry| entry.length),
        experts: match find(architecture, EXPERTS) {
            Some(mut entry) if entry.length.is_none() => integer(&mut entry.content, entry.kind)?,
            _ => None,
        },
    };
    for entry in entries() {
        let entry = entry?;
        report(check_key(&entry))?;
        report(facts.check(&entry).map_err(|stop| stop.about(entry.key)))?;
    }
    match (tokens, types) {
        (Some(tokens), Some(types)) => report(check_bytes(tokens, types)),
        _ => Ok(()),
    }
}

/// Checks that the key of `entry` has 1 to [`KEY`] bytes.
fn check_key(entry: &MetadataEntry<'_>) -> Result<(), Stop> {
    if is_valid(entry.key) {
        return Ok(());
    }
    let length = entry.key.len();
    let sentence = format_args!("invalid key of {length} bytes: expected 1 to {KEY}");
    Err(Stop::at(Rule::GgufKey, sentence, entry.at))
}

/// Checks the text of each byte token: it must be two hexadecimal digits in the form `<0x0A>`. `tokens` is the array of the
/// texts of all tokens, and `types` the array of their types. If the elements of an array have a wrong type, nothing is
/// checked, because [`Facts::check`] has reported the array.
fn check_bytes(mut tokens: MetadataEntry<'_>, mut types: MetadataEntry<'_>) -> Result<(), Stop> {
    if tokens.kind != STRING || ![I32, U32].contains(&types.kind) {
        return Ok(());
    }
    let (tokens_length, types_length) = (tokens.length, types.length);
    for _ in 0..tokens_length.min(types_length).unwrap_or_default() {
        let (kind, at) = (types.content.u32()?, tokens.content.at());
        let text = tokens.content.text_bytes()?;
        if kind == BYTE && text.starts_with(BYTE_START) {
            let [_, _, _, high, low, b'>'] = text else { return Err(other_byte(text, at)) };
            if !(high.is_ascii_hexdigit() && low.is_ascii_hexdigit()) {
                return Err(other_byte(text, at));
            }
        }
    }
    Ok(())
}

/// Returns the error for a byte token with the invalid text `text`, which is at the offset `at` of the file.
fn other_byte(text: &[u8], at: u64) -> Stop {
    let text = Short(str::from_utf8(text).unwrap_or_default());
    let sentence = format_args!("invalid byte token {text}: expected two hexadecimal digits");
    Stop::at(Rule::GgufByteToken, sentence, at).about("tokenizer.ggml.tokens")
}

/// A metadata key, the type of its value, and the input at the value.
#[derive(Clone, Copy)]
struct MetadataEntry<'h> {
    key: &'h str,
    /// The offset of the key in the file.
    at: u64,
    /// The offset of the value's type in the file.
    start: u64,
    /// The GGUF number of the value's type, or of the type of the elements if the value is an array.
    kind: u32,
    /// The number of elements; `None` if the value is no array.
    length: Option<u64>,
    /// The input at the value, or at the first element if the value is an array.
    content: Input<'h>,
}

impl<'h> MetadataEntry<'h> {
    /// Parses the metadata key at `input` and the type of its value.
    fn read(mut input: Input<'h>) -> Result<Self, Stop> {
        let at = input.at();
        let key = input.text("a key of the metadata")?;
        let start = input.at();
        let (kind, length) = match input.u32()? {
            ARRAY => (input.u32()?, Some(input.u64()?)),
            kind => (kind, None),
        };
        Ok(Self { key, at, start, kind, length, content: input })
    }

    /// Returns the error of `rule` for a value that has another type than `expected`, a name of one or more types.
    fn other_type(&self, rule: Rule, expected: impl fmt::Display) -> Stop {
        let array = if self.length.is_some() { "array of " } else { "" };
        let name = NAMES.split(' ').nth(usize_from_u32(self.kind)).unwrap_or_default();
        Stop::of_key(
            rule,
            format_args!("has the type {array}{name}, expected {expected}"),
            self.start,
        )
    }

    /// Calls `check` with the integer that is the value, or with each integer if the value is an array. A value that is
    /// neither breaks the rule `rule`.
    fn for_each(
        &self,
        rule: Rule,
        mut check: impl FnMut(Integer) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        let mut content = self.content;
        for _ in 0..self.length.unwrap_or(1) {
            let number = integer(&mut content, self.kind)?;
            check(number.ok_or_else(|| self.other_type(rule, "an integer"))?)?;
        }
        Ok(())
    }
}

/// An integer in the metadata, of any GGUF integer type.
#[derive(Clone, Copy)]
struct Integer {
    /// The sign of the integer for messages: a minus sign, or no character.
    sign: &'static str,
    /// The absolute value of the integer.
    size: u64,
    /// The offset of the integer in the file.
    at: u64,
}

impl Integer {
    /// Returns the error of `rule` for this integer, which is outside the range that `expected` describes.
    fn other(self, rule: Rule, expected: impl fmt::Display) -> Stop {
        let Self { sign, size, at } = self;
        Stop::of_key(rule, format_args!("is {sign}{size}, expected {expected}"), at)
    }

    /// Returns whether the integer is −1, or −1 as an unsigned number. Writers store it to say that a special token does
    /// not exist.
    fn is_none(self) -> bool {
        match self.sign {
            "" => [UNSIGNED, u64::MAX].contains(&self.size),
            _ => self.size == 1,
        }
    }
}

/// Reads an integer whose type has the GGUF number `kind`. Returns `None`, and reads nothing, if this type is not an integer
/// type.
fn integer(input: &mut Input<'_>, kind: u32) -> Result<Option<Integer>, Stop> {
    let at = input.at();
    let number: i64 = match kind {
        U8 => u8::from_le_bytes(input.number()?).into(),
        I8 => i8::from_le_bytes(input.number()?).into(),
        U16 => u16::from_le_bytes(input.number()?).into(),
        I16 => i16::from_le_bytes(input.number()?).into(),
        U32 => input.u32()?.into(),
        I32 => i32::from_le_bytes(input.number()?).into(),
        I64 => i64::from_le_bytes(input.number()?),
        U64 => return Ok(Some(Integer { sign: "", size: input.u64()?, at })),
        _ => return Ok(None),
    };
    let sign = if number < 0 { "-" } else { "" };
    Ok(Some(Integer { sign, size: number.unsigned_abs(), at }))
}

/// The values of the metadata on which the checks of other values depend.
struct Facts<'h> {
    /// The name of the architecture, if its counts are checked; otherwise `None`.
    architecture: Option<&'h str>,
    /// Whether the architecture is one of [`RECURRENT`], without attention, so that it may have 0 attention heads.
    is_recurrent: bool,
    /// The number of tokens of the tokenizer; `None` if the metadata has no array of tokens.
    tokens: Option<u64>,
    /// The number of experts of the architecture; `None` if the metadata does not give one number.
    experts: Option<Integer>,
}

impl Facts<'_> {
    /// Checks the value of `entry`, whose key has passed [`is_known`].
    fn check(&self, entry: &MetadataEntry<'_>) -> Result<(), Stop> {
        match (entry.key.strip_prefix(TOKENIZER), self.architecture) {
            (Some(name), _) => self.check_tokenizer(entry, name),
            (None, Some(architecture)) => match entry.key.strip_prefix(architecture) {
                Some(end) => self.check_count(entry, end),
                None => Ok(()),
            },
            (None, None) => Ok(()),
        }
    }

    /// Checks the value of `entry`, whose key is [`TOKENIZER`] followed by `name`: the type and length of an array of
    /// [`ARRAYS`], or that the ids of special tokens are below the number of tokens. Values of other keys are not checked.
    fn check_tokenizer(&self, entry: &MetadataEntry<'_>, name: &str) -> Result<(), Stop> {
        if let Some((_, kinds, elements)) = ARRAYS.iter().find(|row| row.0 == name) {
            if entry.length.is_none() || !kinds.contains(&entry.kind) {
                let expected = format_args!("array of {elements}");
                return Err(entry.other_type(Rule::GgufTokenizerType, expected));
            }
            return match (entry.length, self.tokens) {
                (Some(length), Some(tokens)) if length != tokens && EACH_TOKEN.contains(&name) => {
                    let found = counted(length, "element");
                    let sentence =
                        format_args!("has {found}, expected {tokens}, one for each token");
                    Err(Stop::of_key(Rule::GgufTokenizerLength, sentence, entry.start))
                }
                _ => Ok(()),
            };
        }
        // Some writers store a list of token ids under the plural of the key, such as `eos_token_ids`.
        let special = name.strip_suffix('s').unwrap_or(name).strip_suffix(TOKEN_ID);
        if !special.is_some_and(|special| is_in(SPECIAL, special)) {
            return Ok(());
        }
        entry.for_each(Rule::GgufTokenId, |id| match self.tokens {
            Some(tokens) if !id.is_none() && (!id.sign.is_empty() || id.size >= tokens) => {
                let expected = format_args!("a number below {tokens}, the number of tokens");
                Err(id.other(Rule::GgufTokenId, expected))
            }
            _ => Ok(()),
        })
    }

    /// Checks the value of `entry`, whose key is the name of the architecture followed by `end`. If `end` is one of [`COUNTS`],
    /// the value must be an integer in its range, or an array of such integers where one is allowed, and the number of used
    /// experts must not exceed the number of experts.
    fn check_count(&self, entry: &MetadataEntry<'_>, end: &str) -> Result<(), Stop> {
        let Some((_, least, most, is_for_each)) = COUNTS.iter().find(|row| row.0 == end) else {
            return Ok(());
        };
        let rule = Rule::GgufCount;
        if entry.length.is_some() && !is_for_each {
            return Err(entry.other_type(rule, "an integer"));
        }
        let least = if self.is_recurrent && end.starts_with(HEADS) { 0 } else { *least };
        let expected = format_args!("{least} to {most}");
        let mut greatest = Integer { sign: "", size: 0, at: entry.content.at() };
        entry.for_each(rule, |number| {
            if !number.sign.is_empty() || number.size > *most {
                return Err(number.other(rule, expected));
            }
            if number.size > greatest.size {
                greatest = number;
            }
            Ok(())
        })?;
        if greatest.size < least {
            return Err(greatest.other(rule, expected));
        }
        match self.experts {
            Some(Integer { size: experts @ 1.., .. })
                if end == EXPERTS_USED && (greatest.size > experts || greatest.size == 0) =>
            {
                let expected = format_args!("1 to {experts}, the number of experts");
                Err(greatest.other(Rule::GgufExperts, expected))
            }
            _ => Ok(()),
        }
    }
}
