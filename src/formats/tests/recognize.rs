//! Tests of recognizing files by their content, and of checking the content against the name.

use alloc::format;
use alloc::string::String;
use alloc::string::ToString as _;
use alloc::vec;
use alloc::vec::Vec;
use std::fs;
use std::path::Path;

use zten_corpus::other::zip::{Archive, Member};
use zten_testkit::other_formats;

use crate::error::Error;
use crate::formats::recognize::{Evidence, PersistentIds, PickleSearch, Stored, scan, search_zip};
use crate::formats::{Executable, Format, OtherKind, Recognition, Recognized, Rule, recognize};
use crate::limits::OpenOptions;

/// Recognizes a file with the given bytes and name.
fn look(bytes: &[u8], name: &str) -> Recognition {
    recognize(&bytes, bytes.len().try_into().unwrap(), Path::new(name)).unwrap()
}

fn kind(bytes: &[u8], name: &str) -> Recognized {
    look(bytes, name).kind()
}

/// Bytes after which a name that has no newline yet is no longer UTF-8. A name may end with the file, but the tests below look for
/// prefixes that are pickles with any bytes after them.
const NO_NAME: &[u8] = b"\xff\xff";

/// Returns the length of the shortest prefix of `bytes` that is a pickle which calls or imports, whatever bytes follow, and the
/// evidence for all of `bytes`.
fn first_call(bytes: &[u8]) -> Option<(usize, Evidence)> {
    let calls = |evidence: &Evidence| matches!(evidence, Evidence::Call | Evidence::Import);
    let evidence = |length: usize| {
        let scanned = |tail: &[u8]| {
            let prefix = [&bytes[..length], tail].concat();
            let mut input = Stored::new(&prefix, 0, prefix.len().try_into().unwrap());
            scan(&mut input, false, PersistentIds::Resolved).unwrap()
        };
        scanned(b"").filter(|_| scanned(NO_NAME).as_ref().is_some_and(calls))
    };
    let found = evidence(bytes.len()).filter(calls)?;
    Some((
        (0..=bytes.len()).find(|length| evidence(*length).is_some_and(|found| calls(&found)))?,
        found,
    ))
}

/// Returns the length of the shortest prefix of the text `bytes` that is a pickle which calls a function, whatever bytes follow. A
/// text that only imports something, as a pickle would, is not taken for a pickle.
fn call_in_text(bytes: &[u8]) -> usize {
    let is_found = |length: &usize| {
        let prefix = [&bytes[..*length], NO_NAME].concat();
        let mut input = Stored::new(&prefix, 0, prefix.len().try_into().unwrap());
        scan(&mut input, true, PersistentIds::Resolved).unwrap() == Some(Evidence::Call)
    };
    (0..=bytes.len()).find(is_found).unwrap_or(bytes.len())
}

const PICKLE: Recognized = Recognized::Named(Rule::FormatPickle);

/// Returns the message of an error.
fn sentence(error: &Error) -> String {
    super::brief(error)
}

/// Pickles that call or import something, written by `pickle.dumps` or by hand.
const PICKLES: &[&[u8]] = &[
    b"cposix\nsystem\n(S'true'\ntR.",
    b"S'hello'\n0cposix\nsystem\n(S'true'\ntR.",
    b"(cposix\nsystem\nS'true'\no.",
    b"(S'true'\niposix\nsystem\n.",
    b"cposix\nsystem\np0\n0g0\n(S'true'\ntR.",
    b"I1\n0L5L\n0F1e3\n0V text, and more \n0cposix\nsystem\n(S\"a'b\"\ntR.",
    // Windows line breaks, and unusual numbers that Python accepts.
    b"cposix\r\nsystem\r\n(S'true'\ntR.",
    b"I 0x1F \r\n0L-12_3L\n0I7\0unused\n0cposix\nsystem\n(S'true'\ntR.",
    // A module in a file that comes with the model, whose name is no identifier.
    b"cmy-module\nrun\n)R.",
    b"c3d\nrun\n)R.",
    b"\x80\x02cposix\nsystem\nX\x04\0\0\0trueq\0\x85q\x01Rq\x02.",
    b"\x80\x04\x95\xff\0\0\0\0\0\0\0\x8c\x05posix\x94\x8c\x06system\x94\x93\x94\x8c\x04true\x94\x85\x94R\x94.",
    // The opcode PROTO may be at any position, as may instructions without an effect.
    b"N0\x80\x05N0(1(0N2\x30\x30cposix\nsystem\n(S'true'\ntR.",
    b"\x80\x03]q\0(K\x01M\x02\x03J\x04\x05\x06\x07e0cposix\nsystem\n)\x81.",
    b"\x80\x04N0\x8f(K\x01\x900}(K\x01Nu0\x96\x01\0\0\0\0\0\0\0aK\x05a0cos\nsystem\n)}\x92.",
    b"\x80\x02cos\nenviron\nU\x01aU\x01bs.",
    b"\x80\x02\x82\x01)R.",
    b"\x80\x02cos\nsystem\n}b.",
    b"\x80\x02U\x01aQ0cos\nsystem\n)R.",
    b"P17\n0cos\nsystem\n)R.",
];

#[test]
fn every_pickle_is_found_with_any_tail() {
    let corpus = other_formats("reject").into_iter().filter(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        path.parent().unwrap().parent().unwrap().ends_with("named")
            && ["format-pickle", "torch-", "format-joblib"]
                .iter()
                .any(|rule| name.starts_with(rule))
            && !path.extension().is_some_and(|suffix| suffix == "zip" || suffix == "tar")
    });
    let corpus: Vec<_> = corpus.map(|path| fs::read(path).unwrap()).collect();
    assert!(corpus.len() > 20);
    let mut called = 0;
    for pickle in PICKLES.iter().map(|pickle| pickle.to_vec()).chain(corpus) {
        let Some((end, _)) = first_call(&pickle) else {
            assert!(!PICKLES.contains(&&*pickle), "{}", pickle.escape_ascii());
            continue;
        };
        // A pickle of ASCII characters could be a text, in which an import is no evidence of a pickle. Only a call is.
        let end = if pickle.is_ascii() { call_in_text(&pickle) } else { end };
        called += 1;
        for length in end..=pickle.len() {
            let cut = &pickle[..length];
            for tail in
                [&b""[..], b"\0", b"\xff\xfe\xfd", b"R", b" text\n", b"\n\n\n", b"{\"a\":1}"]
            {
                let bytes = [cut, tail].concat();
                let found = kind(&bytes, "x.txt");
                let expected = [PICKLE, Recognized::Named(Rule::FormatTorch)];
                let is_joblib = found == Recognized::Named(Rule::FormatJoblib);
                assert!(expected.contains(&found) || is_joblib, "{}", bytes.escape_ascii());
            }
        }
    }
    // Most pickles of the corpus break a rule before they call anything.
    assert!(called > PICKLES.len() + 5, "{called}");
}

/// Checks that a name of a function is read up to the end of the file if it has no newline: the unpickler that is written in
/// Python, which joblib and `torch.load` use, drops the last byte of the line and continues. A file in which such a name is
/// empty is text.
#[test]
fn a_call_in_the_last_line_needs_no_newline() {
    for pickle in
        [&b"(S'true'\niposix\nsystem\0"[..], b"(S'true'\niposix\nsystemX", b"K\x01cposix\nsystemX"]
    {
        assert_eq!(kind(pickle, "x.txt"), PICKLE, "{}", pickle.escape_ascii());
    }
    // Python fails on an empty name, so a text in which the name of a function is empty is no pickle.
    for other in [&b"(S'true'\niposix\n"[..], b"(S'true'\niposix\nX"] {
        assert_eq!(kind(other, "x.txt"), Recognized::Other(OtherKind::Text));
    }
}

/// Checks that numbers are read as Python reads them, however long their text is and with white space around it: a number that
/// the scanner takes for an error would hide the call after it.
#[test]
fn a_number_of_any_length_does_not_hide_a_call() {
    let call = b"(S'true'\niposix\nsystem\n.";
    let zeros = "0".repeat(70);
    for number in [
        format!("F1.{zeros}\n"),
        format!("F-1e+{zeros}\n"),
        format!("F{:70}nan\n", ""),
        format!("I-1{zeros}\n"),
        format!("I{:70}7\n", ""),
        format!("L+{zeros}1L\n"),
        format!("I1\np{zeros}3\n0g3\n"),
        "I\u{b}1\n".into(),
        "F1.5\u{b}\n".into(),
        "L5 L\n".into(),
        "I\0\n".into(),
        "I1\np-0\n0g0\n".into(),
        "I1\np0\n0g-0\n".into(),
    ] {
        let pickle = [number.as_bytes(), b"0", call].concat();
        assert_eq!(kind(&pickle, "x.txt"), PICKLE, "{}", pickle.escape_ascii());
    }
    // Keys of more than 64 bits are different keys, so the second value does not replace the function.
    let keys = b"cposix\nsystem\np18446744073709551616\n0Np36893488147419103232\n0g18446744073709551616\n(S'true'\ntR.";
    assert_eq!(kind(keys, "x.txt"), PICKLE);
    // Text that is no number ends the pickle.
    for number in ["F1.5 of a meter", "Ione", "I1\np-3", "I1\npone"] {
        let text = [number.as_bytes(), b"\n0", call].concat();
        assert_eq!(kind(&text, "x.txt"), Recognized::Other(OtherKind::Text), "{number}");
    }
}

/// Checks that a search that ends at its limit on decompressed bytes names the member where it ended, since a later member may
/// be a pickle, and that with a higher limit this pickle is found.
#[test]
fn a_search_that_reaches_its_limit_is_stopped() {
    // The operand of the first instruction is longer than the member, so the scanner decompresses the whole member.
    let long = [&b"\x8e\xff\xff\0\0\0\0\0\0"[..], &[0; 10_000]].concat();
    let members = [Member::deflated("long", &long), Member::deflated("pickle", PICKLES[0])];
    let bytes = &Archive::new(&members).bytes()[..];
    let search = |most| search_zip(&bytes, bytes.len().try_into().unwrap(), most).unwrap();
    assert_eq!(search(1 << 20), PickleSearch::Found("pickle".to_string()));
    assert_eq!(search(5_000), PickleSearch::Stopped("long".to_string()));
}

#[test]
fn text_that_begins_like_a_pickle_is_text() {
    let texts: &[&[u8]] = &[
        b"# Title\n\nText.\n",
        b"copyright notice\nall rights reserved\nNo warranty.\n",
        b"code of conduct\nwe pledge\n(to be read)\n",
        b"(copy this\nline and then\nother things\n",
        b"(in this file\nthere is text)\no",
        b"cat\ndog\nomit\n",
        b"common\nword\n.\nmore\n",
        b"I am text.\n",
        b"In 2024\n1\n.",
        b"For example\n",
        b"Version 2\n.. note::\n",
        b"Part one\nNow then\n",
        b"Goodbye! N. and more\n",
        b"Le chat\n",
        b"N. B. this is text\n",
        b"{\"a\": [1, 2]}",
        b"[1, 2]",
        b"}\n",
        b"a,b,c\n1,2,3\n",
        b"import os\nos.system\n",
        b"def f():\n    pass\n",
        b"class A:\n    pass\n",
        b"const a = 1\n",
        b"git\nlfs\n",
        b"0,1,2\n",
        b"()\n",
        b"((((a))))\n",
        b"STEP 1\n.\n",
        b"'quoted'\n",
        b"Some text.",
        b"NNNNNNNNACGT\n",
        b"CHANGELOG\n",
    ];
    for text in texts {
        let found = kind(text, "x.txt");
        assert!(matches!(found, Recognized::Other(_)), "{found:?}: {}", text.escape_ascii());
    }
}

#[test]
fn values_without_calls_are_pickles_to_their_end() {
    for pickle in [
        &b"(dp0\nS'a'\np1\nI1\ns."[..],
        b"(lp0\nI1\na.",
        b"I1\n.\n",
        b"\x80\x02}q\0.",
        b"\x80\x04\x95\x03\0\0\0\0\0\0\0}\x94.",
        b"\x80\x05N.",
        b"}q\0.",
        // A pickle that is cut before it calls anything.
        b"\x80\x02}q\0(X\x03\0\0\0abcK",
    ] {
        assert_eq!(kind(pickle, "x"), PICKLE, "{}", pickle.escape_ascii());
    }
    // Python's unpickler fails on these streams, so they are no evidence of a pickle.
    for other in [
        &b"\x80\x06N."[..],
        b"\x80\x02NR.",
        b"\x80\x02)NR.",
        b"\x80\x02h\0.",
        b"\x80\x02(.",
        b"\x80\x02Na.",
        b"\x80\x02NNN\x93.",
        b"\xff\xff\xff",
    ] {
        let mut input = Stored::new(&other, 0, other.len().try_into().unwrap());
        assert_eq!(
            scan(&mut input, false, PersistentIds::Resolved).unwrap(),
            None,
            "{}",
            other.escape_ascii()
        );
    }
}

#[test]
fn operands_are_skipped_and_a_pickle_beyond_the_limits_is_a_pickle() {
    // A pickle with one operand of a terabyte, which the scanner must skip rather than read.
    struct Long(Vec<u8>, u64);
    impl crate::read_at::ReadAt for Long {
        fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
            for (place, byte) in (offset..).zip(buffer) {
                let behind = usize::try_from(place.saturating_sub(self.1)).unwrap();
                let place = usize::try_from(place).unwrap_or(usize::MAX);
                *byte = match self.0.get(place) {
                    Some(found) => *found,
                    None => b"cos\nsystem\n)R.".get(behind).copied().unwrap_or(0),
                };
            }
            Ok(())
        }
    }
    let start = [&b"\x80\x04\x8e"[..], &(1_u64 << 40).to_le_bytes()].concat();
    let end = 11 + (1 << 40);
    let long = Long(start, end);
    let found = recognize(&long, end + 14, Path::new("x.txt")).unwrap();
    assert_eq!(found.kind(), PICKLE);
    let many = [&b"\x80\x04"[..], &b"N]".repeat(1 << 20)].concat();
    let found = look(&many, "x.txt");
    assert_eq!(found.kind(), PICKLE);
    assert!(sentence(&found.rejection().unwrap()).contains("more values"));
    // A run of equal values takes one entry on the stack, so this stack is within the limit.
    let many = [&b"N".repeat(1 << 21)[..], b"cos\nsystem\n)R"].concat();
    assert_eq!(kind(&many, "x.txt"), PICKLE);
    let many = [&b"N\x94".repeat(1 << 20)[..], b"cos\nsystem\n)R"].concat();
    assert_eq!(kind(&many, "x.txt"), PICKLE);
}

#[test]
fn files_without_tensors_are_recognized_by_kind() {
    let webp = b"RIFF\x10\0\0\0WEBPVP8 ";
    let wave = b"RIFF\x10\0\0\0WAVEfmt ";
    let piece = b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02\n\x08";
    let apple_double = b"\0\x05\x16\x07\0\x02\0\0Mac OS X        \0\x02\0\0\0\x09";
    let compound = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0";
    let mut pe = vec![0; 256];
    pe[..2].copy_from_slice(b"MZ");
    pe[0x3c] = 0x80;
    pe[0x80..0x84].copy_from_slice(b"PE\0\0");
    let cases: &[(&[u8], &str, Recognized)] = &[
        (b"# Title\n", "README.md", Recognized::Other(OtherKind::Text)),
        (b"<div align=\"center\">\n", "README.md", Recognized::Other(OtherKind::Text)),
        (b"<!DOCTYPE html>\n", "index.html", Recognized::Other(OtherKind::Text)),
        (b"\xff\xfea\0b\0\n\0", "x", Recognized::Other(OtherKind::Text)),
        (b"caf\xe9 and other letters of an old encoding", "x", Recognized::Other(OtherKind::Text)),
        (b"{\"a\": 1}\n", "config.json", Recognized::Other(OtherKind::Json)),
        (b"{\"error\": 1}\n", "errors.json", Recognized::Other(OtherKind::Json)),
        (b"int main() {}\n", "main.c", Recognized::Other(OtherKind::Source)),
        (b"#!/bin/sh\n", "run", Recognized::Other(OtherKind::Source)),
        (b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR", "a.png", Recognized::Other(OtherKind::Image)),
        (b"\xff\xd8\xff\xe0\0\x10JFIF\0", "a.jpg", Recognized::Other(OtherKind::Image)),
        (b"GIF89a\x10\0\x10\0\xf7\0\0", "a.gif", Recognized::Other(OtherKind::Image)),
        (webp, "a.webp", Recognized::Other(OtherKind::Image)),
        (b"<svg xmlns=\"x\"/>", "a.svg", Recognized::Other(OtherKind::Image)),
        (b"wOF2\0\x01\0\0", "a.woff2", Recognized::Other(OtherKind::Font)),
        (wave, "a.wav", Recognized::Other(OtherKind::Media)),
        (b"\0\0\0\x18ftypmp42", "a.mp4", Recognized::Other(OtherKind::Media)),
        (b"ID3\x04\0\0\0\0\0\0", "a.mp3", Recognized::Other(OtherKind::Media)),
        (b"fLaC\0\0\0\x22", "a.flac", Recognized::Other(OtherKind::Media)),
        (b"OggS\0\x02", "a.ogg", Recognized::Other(OtherKind::Media)),
        (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "a.pdf", Recognized::Other(OtherKind::Pdf)),
        (piece, "tokenizer.model", Recognized::Other(OtherKind::Sentencepiece)),
        (
            b"\x08\x02\x10\x01\x42\x01x\x4a\x08\0\0\0\0\0\0\0\0",
            "input_0.pb",
            Recognized::Other(OtherKind::TensorProto),
        ),
        (
            b"\x08\x01\x12\x04\x12\x02\x08\x02\x22\x08\0\0\0\0\0\0\0\0",
            "x",
            Recognized::Other(OtherKind::TensorProto),
        ),
        (b"\0\0\0\x01Bud1\0\0\x10\0", ".DS_Store", Recognized::Other(OtherKind::OsMetadata)),
        (apple_double, "._a.safetensors", Recognized::Other(OtherKind::OsMetadata)),
        (apple_double, "._a.pt", Recognized::Other(OtherKind::OsMetadata)),
        (apple_double, "._a.safetensors.index.json", Recognized::Other(OtherKind::OsMetadata)),
        (compound, "Thumbs.db", Recognized::Other(OtherKind::OsMetadata)),
        (compound, "report.doc", Recognized::Unknown),
        (b"\x7fELF\x02\x01\x01\0", "a.so", Recognized::Executable(Executable::Elf)),
        (&pe, "a.dll", Recognized::Executable(Executable::Pe)),
        (b"\xcf\xfa\xed\xfe\x0c\0\0\x01", "a", Recognized::Executable(Executable::MachO)),
        (b"\xa7\x0d\x0d\x0a\0\0\0\0", "a.pyc", Recognized::Executable(Executable::Bytecode)),
        (b"import torch\n", "modeling.PY", Recognized::Executable(Executable::Python)),
        (b"", "__init__.py", Recognized::Empty),
        (b"\xfe\xdc\xba\x98\0\x01", "x", Recognized::Unknown),
        (
            b"\xfe\xdc\xba\x98\0\x01",
            "model.ckpt-1.data-00000-of-00001",
            Recognized::Named(Rule::FormatTensorflow),
        ),
        (b"ZTEN", "x", Recognized::ZTensor),
        (b"{}", "model.safetensors.index.json", Recognized::Read(Format::Index)),
    ];
    for (bytes, name, expected) in cases {
        let found = look(bytes, name);
        assert_eq!(found.kind(), *expected, "{name}: {}", bytes.escape_ascii());
        let is_read = matches!(found.kind(), Recognized::ZTensor | Recognized::Read(_));
        assert_eq!(found.rejection().is_none(), is_read, "{name}");
        assert!(found.check_name(Path::new(name)).is_ok(), "{name}");
    }
}

#[test]
fn a_name_that_claims_another_format_is_rejected() {
    let (pickle, safetensors) = (&b"\x80\x02}q\0."[..], &b"\x02\0\0\0\0\0\0\0{}"[..]);
    let checked = |bytes: &[u8], name: &str| look(bytes, name).check_name(Path::new(name));
    for name in ["a.pkl", "a.PT", "a.pth.tar", "pytorch_model-00001-of-00002.BIN", "a.Pickle"] {
        assert!(checked(pickle, name).is_ok(), "{name}");
        let error = checked(safetensors, name).unwrap_err();
        assert!(error.rule() == Some(Rule::FormatName.row().id()), "{error}");
    }
    for name in ["a.safetensors", "a.GGUF", "a.npy", "a.npz", "a.zt"] {
        let error = checked(pickle, name).unwrap_err();
        assert!(error.rule() == Some(Rule::FormatName.row().id()), "{error}");
    }
    for name in ["", "a", "a.bin", "a.dat", "a.txt", "model.bin", "-", "pkl", "a.safetensors.bak"] {
        assert!(checked(pickle, name).is_ok() && checked(safetensors, name).is_ok(), "{name}");
    }
    assert!(checked(safetensors, "A.SafeTensors").is_ok());
    // The query of a URL does not belong to the name.
    assert!(checked(safetensors, "https://h/a.safetensors?signature=b.pt").is_ok());
    assert!(checked(safetensors, "https://h/a.pt?signature=b.safetensors").is_err());
    let index = "https://h/model.safetensors.index.json?signature=x";
    assert_eq!(kind(b"{}", index), Recognized::Read(Format::Index));
    let named = Path::new("https://h/a.zt?signature=x");
    let options = OpenOptions::default();
    let error = options.open_named(&[b'x'; 64][..], 64, named).unwrap_err();
    assert_eq!(error.rule().unwrap(), "header-magic");
    assert_eq!(look(b"other", "https://h/a.zt?b").detected(Path::new("https://h/a.zt?b")), None);
    assert!(checked(b"text\n", "a.pkl").is_err());
    // Packages of Python install lists of paths that end in `.pth`.
    assert!(checked(b"/home/x/package\n", "easy-install.pth").is_ok());
    assert!(checked(b"{}\n", "a.pth").is_err() && checked(safetensors, "a.pth").is_err());
    // The first versions of PyTorch wrote tar archives.
    let mut tar = vec![0; 1024];
    tar[..8].copy_from_slice(b"storages");
    tar[124..136].copy_from_slice(b"00000000000\0");
    tar[257..265].copy_from_slice(b"ustar\x0000");
    assert_eq!(look(&tar, "a.pth.tar").kind(), Recognized::Named(Rule::FormatTorch));
    assert!(checked(&tar, "a.pth.tar").is_ok() && checked(&tar, "a.safetensors").is_err());
    assert!(checked(b"version https://git-lfs.github.com/spec/v1\n", "a.pkl").is_ok());
    assert_eq!(
        sentence(&checked(safetensors, "a.pkl").unwrap_err()),
        "the name is that of a PyTorch checkpoint or a pickle, but this is a safetensors file"
    );
}

/// Checks that a safetensors file whose length field is the start of a pickle, which continues in the data, opens as a
/// safetensors file, and that [`Recognition::check_name`] rejects it, whatever its name is.
#[test]
fn a_safetensors_file_that_is_also_a_pickle_is_rejected() {
    // The length field encodes the instructions NONE and BINFLOAT. The operand of BINFLOAT is the rest of the length field and
    // two bytes of the header. The tensor's name begins with POP, which drops the number, and UNICODE, whose line ends in the
    // data.
    let payload = b"\ncos\nsystem\n(S'true'\ntR.";
    let (length, size) = (0x474e_u64, payload.len());
    let header = format!(r#"{{"0V":{{"dtype":"U8","shape":[{size}],"data_offsets":[0,{size}]}}}}"#);
    let header = format!("{header:<width$}", width = usize::try_from(length).unwrap());
    let file = [&length.to_le_bytes()[..], header.as_bytes(), payload].concat();
    assert!(OpenOptions::default().from_bytes(&*file).is_ok());
    let found = look(&file, "x");
    assert_eq!(found.kind(), Recognized::Read(Format::Safetensors));
    let error = found.check_name(Path::new("x")).unwrap_err();
    assert!(error.rule() == Some(Rule::FormatName.row().id()), "{error}");
    assert!(error.to_string().contains("also a pickle"), "{error}");
}

#[test]
fn bytes_after_the_first_call_do_not_change_the_evidence() {
    let mut random = fastrand::Rng::with_seed(54);
    let mut found = 0;
    for _ in 0..2_000 {
        let mut bytes = PICKLES[random.usize(..PICKLES.len())].to_vec();
        for _ in 0..random.usize(1..4) {
            let place = random.usize(..=bytes.len());
            match random.u8(..3) {
                0 if place < bytes.len() => bytes[place] = random.u8(..),
                1 => bytes.insert(place, random.u8(..)),
                _ => bytes.truncate(place),
            }
        }
        let Some((end, evidence)) = first_call(&bytes) else { continue };
        found += 1;
        let tail: Vec<u8> = (0..random.usize(..8)).map(|_| random.u8(..)).collect();
        let cut = [&bytes[..end], &tail].concat();
        assert_eq!(first_call(&cut), Some((end, evidence)), "{}", cut.escape_ascii());
    }
    assert!(found > 400, "{found}");
}

/// Checks that a persistent id ends a pickle in a file that begins as an archive or a safetensors file: programs that
/// resolve persistent ids recognize these formats first, and honest files begin with its opcode. A pickle without
/// persistent ids must still be found.
#[test]
fn a_persistent_id_makes_no_pickle_of_a_file_of_a_format_that_is_read() {
    let header = r#"{"a":{"dtype":"U8","shape":[80],"data_offsets":[0,80]}}"#;
    // The first byte of the length is an opcode: `P` takes a line, `U` skips as many bytes as the second byte says.
    for (length, data, is_pickle) in [
        ([b'P', 0], &b"\n)R"[..], false),
        ([b'U', 0x58], b"P\n)R", false),
        ([b'U', 0x58], b"cos\nsystem\n)R", true),
    ] {
        let bytes_of_header = usize::from(u16::from_le_bytes(length));
        let mut bytes = vec![length[0], length[1], 0, 0, 0, 0, 0, 0];
        bytes.extend(format!("{header:bytes_of_header$}").as_bytes());
        // The second byte is 88, so that the text behind `U` ends with the byte at 90.
        if length[0] == b'U' {
            let place = bytes.get_mut(90..90 + data.len()).unwrap();
            assert!(place.iter().all(|byte| *byte == b' '));
            place.copy_from_slice(data);
        }
        bytes.extend(data);
        bytes.resize(8 + bytes_of_header + 80, 7);
        let length = u64::try_from(bytes.len()).unwrap();
        let found = recognize(&&bytes[..], length, Path::new("x.safetensors")).unwrap();
        assert_eq!(found.kind(), Recognized::Read(Format::Safetensors));
        let misnamed = found.check_name(Path::new("x.safetensors")).is_err();
        assert_eq!(misnamed, is_pickle, "{}", data.escape_ascii());
    }
}
