//! The catalog of all rules that a file of another format can break, and of the formats that zten names but does not read.
//!
//! Each rule has one row, as in [`crate::rules`]. The limits of [`crate::rules`] hold here, too. Tests check that `corpus/other`
//! contains a file for each rule that breaks it.

use crate::error::ErrorKind;
use crate::index::QuantizedRules;
use crate::rules::{Class, Row, Scope, Source, Texts};

macro_rules! catalog {
    ($( $variant:ident $id:literal, $class:ident, $source:ident($why:literal), $formats:ident,
        $holds:literal, $broken:literal, $advice:expr; )+) => {
        /// A rule of another format than zTensor, or the name of a format that zten does not read.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[non_exhaustive]
        pub enum Rule {
            $( #[doc = $holds] $variant, )+
        }

        impl Rule {
            /// All rules, in the order of the catalog.
            pub const ALL: &'static [Self] = &[ $( Self::$variant, )+ ];

            /// Returns the row of the rule in the catalog.
            pub const fn row(self) -> &'static Row {
                match self {
                    $( Self::$variant => const { &Row::new($id, Class::$class, const { &Texts {
                        holds: $holds,
                        broken: $broken,
                        source: Source::$source($why),
                        scope: Scope::Other($formats),
                        advice: $advice,
                    }.built() }) }, )+
                }
            }
        }

        impl From<Rule> for &'static Row {
            fn from(rule: Rule) -> Self {
                rule.row()
            }
        }

        impl From<Rule> for ErrorKind {
            fn from(rule: Rule) -> Self {
                rule.row().into()
            }
        }

        impl PartialEq<Rule> for ErrorKind {
            fn eq(&self, rule: &Rule) -> bool {
                self.row() == Some(rule.row())
            }
        }
    };
}

const SAFETENSORS: &str = "safetensors";
const GGUF: &str = "GGUF";
const NPY: &str = ".npy, .npz";
const NPZ: &str = ".npz";
const ZIP: &str = ".npz, PyTorch";
const TORCH: &str = "PyTorch";
const INDEX: &str = "index of safetensors";
const ANY: &str = "all that are read";
const NONE: &str = "not read";

// Advice says what the user can do about this cause. It accuses nobody: most files that break a rule were damaged in transfer
// or written by a program with a defect.

/// Advice for a file that is shorter than it should be, or whose bytes are damaged.
pub(crate) const DAMAGED: &str =
    "The file was cut or damaged. Fetch it again and compare its digest.";
/// Advice for bytes after the last item of a file.
pub(crate) const APPENDED: &str =
    "Another program appended them, or the header is wrong. Compare the file with the original.";
/// Advice for bytes after the last tensor of a safetensors or GGUF file.
pub(crate) const APPENDED_TO_TENSORS: &str = "Another program appended them, or the header is wrong. Compare the file with the original; `zten convert --trim` writes a safetensors or GGUF file without them.";
/// Advice for a file that begins with the bytes of another format.
pub(crate) const NO_HEADER: &str =
    "The file has another format than its name says, or its first bytes are damaged.";
pub(crate) const SECOND_ARRAY: &str = "`numpy.save` was called again on the same open file. Save each array to its own file, or all with `numpy.savez`.";
pub(crate) const NUMPY_SCALAR: &str = "A program wrote the header with the `repr` of NumPy 2. Save the array again with `numpy.save`.";
pub(crate) const WRITER: &str =
    "Write the file again with a program that follows the specification of the format.";
/// Advice for an ambiguous file, from which two programs may read different tensors.
const AMBIGUOUS: &str = "Programs may read this file differently: do not rely on what one of them shows. Write it again, or ask for another copy.";
/// Advice for an impossible number in a header.
const COUNTED: &str = "The header has a wrong number. Fetch the file again and compare its digest, or write it again.";
const LARGE: &str = "Split the content into several files: zten reads no larger header.";
const MISSING: &str = "Fetch all files that the index names, and put them into its folder.";
const MISSING_PART: &str =
    "Fetch all files of the model, keep their names, and put them into one folder.";
const VERSIONS: &str = "The index and the files are of different versions. Fetch all of them again, or write the index again.";
const OVERLAY: &str =
    "Which of the two is loaded depends on the program. Ask for files that hold each tensor once.";
const LOADER: &str =
    "Programs that trust the value have crashed. Write the file again with a newer converter.";
const PARTS: &str = "zten shows these as plain tensors. If they are parts of one, programs that read the convention fail or compute other values: write the file again.";
const DAMAGED_VALUES: &str = "The tensor was quantized from such values, or the file was damaged. Compare it with the model that it was made from.";
const TYPE: &str =
    "The file may be valid for another reader; this one does not support the tensor.";
const FEATURE: &str = "The file may be valid for another reader. Write it again with the options of zip that all readers know.";
const CHECKPOINT: &str = "Save the tensors again with `torch.save`, or ask for safetensors. Without that, load the file with `weights_only=True` only.";
const GLOBAL: &str = "Do not load it with `weights_only=False`: unpickling imports this name, and runs it if the pickle calls it. To read the tensors without importing anything, use `--tolerate torch-global`. A policy can accept a class that you know: `allow-globals`.";
const PROGRAM: &str = "Do not load it unless you trust its author: loading runs the program. Ask for the weights as safetensors.";
const PICKLE: &str = "Do not load it unless you trust its author: a pickle can call any function. Ask for safetensors.";
const CONVERT: &str = "Convert it with the program that wrote it, and check the result.";
const UNKNOWN: &str =
    "If it should hold tensors, fetch it again, or convert it with the program that wrote it.";
const EMPTY: &str = "A download or copy may have failed: fetch it again.";
const NAME: &str = "Give the file the name of its format, and do not load it by its present name.";
const JOBLIB: &str = "Do not load it: that runs code of its author. Where nothing can be lost, load it with joblib.load and save the arrays with numpy.savez or safetensors.";
const FLAX: &str =
    "Load it with flax.serialization.msgpack_restore, and save the arrays as safetensors.";
const TENSORFLOW: &str =
    "Load it with tf.train.load_checkpoint, and save the arrays with numpy.savez or safetensors.";
const CORE_ML: &str =
    "Read the weights with coremltools, or get the model in the format that it was converted from.";
const FASTTEXT: &str = "Load it with the fasttext package, and save the vectors with numpy.save.";
const WORD2VEC: &str = "Load it with gensim's KeyedVectors.load_word2vec_format, and save the vectors with numpy.save.";
const MATLAB: &str =
    "Load it with scipy.io.loadmat (version 7.3: h5py), and save the arrays with numpy.savez.";
const COMPRESSED: &str = "Decompress it, and check what is in it.";
const ZLIB: &str = "If joblib wrote it, do not load it: that runs code of its author. Otherwise decompress it, and check what is in it.";
const LFS: &str =
    "Run `git lfs install` once and `git lfs pull` in the repository, or download the file itself.";
const PAGE: &str = "The download did not get the file: look at the page for the reason (a login, a license or a wrong address), and fetch the file again.";

/// The advice texts that replace the advice of a rule for a particular cause.
pub const CAUSES: [&str; 8] = [
    DAMAGED,
    APPENDED,
    APPENDED_TO_TENSORS,
    NO_HEADER,
    SECOND_ARRAY,
    NUMPY_SCALAR,
    WRITER,
    crate::shards::LINKED,
];

catalog! {
    // Safetensors.
    SafetensorsSize "safetensors-size", Invalid, Spec("safetensors: Format"), SAFETENSORS,
        "A file has the 8 bytes of the header's length.", "the file ends before its header does", DAMAGED;
    SafetensorsHeaderLength "safetensors-header-length", Invalid, Spec("safetensors: Format"), SAFETENSORS,
        "The header is within the file and at most 100,000,000 bytes long.",
        "the header length exceeds the file, or the maximum", DAMAGED;
    SafetensorsHeaderStart "safetensors-header-start", Invalid, Spec("safetensors: Format"), SAFETENSORS,
        "The header begins with a brace.", "the header does not begin with a brace", NO_HEADER;
    SafetensorsJson "safetensors-json", Invalid, Spec("safetensors: Format"), SAFETENSORS,
        "The header is one JSON map of tensors, each with `dtype`, `shape` and `data_offsets` alone, and of texts as `__metadata__`.",
        "invalid header", WRITER;
    SafetensorsDuplicateKey "safetensors-duplicate-key", Invalid, Spec("safetensors: Format"), SAFETENSORS,
        "The keys of the metadata are unique, and there is one metadata.", "duplicate key", AMBIGUOUS;
    SafetensorsDuplicateName "safetensors-duplicate-name", Invalid, Spec("safetensors: Format"), SAFETENSORS,
        "The names of tensors are unique.", "duplicate tensor name", AMBIGUOUS;
    SafetensorsDtype "safetensors-dtype", Unsupported, Policy("zTensor has no such elements"), SAFETENSORS,
        "The `dtype` is one that this reader supports.", "unsupported dtype", TYPE;
    SafetensorsExtent "safetensors-extent", Invalid, Spec("safetensors: Format"), SAFETENSORS,
        "The data of a tensor has as many bytes as its shape and dtype need.",
        "the data has more or fewer bytes than shape and dtype need", WRITER;
    SafetensorsContiguous "safetensors-contiguous", Invalid, Spec("safetensors: Format"), SAFETENSORS,
        "The data of each tensor begins where that of the one before it ends.",
        "the data does not begin where that of the tensor before it ends", WRITER;
    SafetensorsDataLength "safetensors-data-length", Invalid, Spec("safetensors: Format"), SAFETENSORS,
        "The data of the last tensor ends with the file.", "bytes follow the last tensor, or are missing from it", DAMAGED;
    SafetensorsAlignment "safetensors-alignment", Note, Policy("the format does not require it"), SAFETENSORS,
        "The data of a tensor begins in the file at a multiple of the width of its elements.",
        "the data does not begin at a multiple of the width of its elements, so programs that map the file have to copy it",
        "`zten convert IN OUT.safetensors` writes a file in which all tensors are aligned.";

    // The index of several files.
    IndexJson "index-json", Invalid, Implied("it could not be read"), INDEX,
        "The index is one JSON map with the map `weight_map`, from names of tensors to names of files, and perhaps the map `metadata`.",
        "invalid index", WRITER;
    IndexKey "index-key", Note, Policy("loaders use no other keys"), INDEX,
        "The index has no keys but `weight_map` and `metadata`.", "unknown key in the index, which zten leaves out",
        "Put the key into `metadata` if programs should read its value.";
    IndexDuplicateKey "index-duplicate-key", Invalid, Implied("readers differ on which of them counts"), INDEX,
        "All keys are unique.", "duplicate key", AMBIGUOUS;
    IndexFileName "index-file-name", Invalid, Policy("no name leads out of the folder"), INDEX,
        "Files are named by their names in the index's folder, which have no control characters, and end in `.safetensors`, or all of them in `.bin`, `.pt` or `.pth`.",
        "invalid file name: expected one in the folder of the index that ends in .safetensors, .bin, .pt or .pth", WRITER;
    IndexFile "index-file", Invalid, Implied("tensors are missing"), INDEX,
        "Every file that is named is a regular file in the folder of the index, or a link to the blobs of a hub's cache.",
        "a file that the index names is missing, or is a link", MISSING;
    IndexTensor "index-tensor", Invalid, Implied("a tensor is missing"), INDEX,
        "A file holds all tensors that the index says are in it.",
        "a file lacks a tensor that the index says is in it", VERSIONS;
    IndexUnnamed "index-unnamed", Note, Policy("the index decides which tensors are read"), INDEX,
        "The index names every tensor of its files.", "the index does not name a tensor of its files, so zten leaves it out",
        "Programs that load whole files read the tensor. Add it to the index if it belongs to the model.";
    IndexCopy "index-copy", Note, Policy("programs that load whole files may read the other copy"), INDEX,
        "No tensor is in two of the files that are named.", "a tensor is in two files",
        "`zten convert` writes files that hold each tensor once.";
    IndexOverlay "index-overlay", Invalid, Implied("programs that load whole files may read the other one"), INDEX,
        "Tensors of one name in two of the files that are named are equal: their dtypes, shapes and bytes.",
        "two files have different tensors of one name", OVERLAY;
    IndexTotalSize "index-total-size", Note, Policy("programs that load the files do not use it"), INDEX,
        "`total_size` is the bytes of all tensors, or of all files.", "total_size does not match the tensors or the files", VERSIONS;
    IndexTotalParameters "index-total-parameters", Note, Policy("programs that load the files do not use it"), INDEX,
        "`total_parameters` is the number of elements of all tensors.", "total_parameters does not match the tensors",
        "Some writers leave out buffers, or count the weights of a quantized model. If the number should match, the index and the files may be of different versions.";
    IndexMetadata "index-metadata", Invalid, Implied("readers differ on which of them counts"), INDEX,
        "The metadata of the index and of its files agree.",
        "the files do not agree on the metadata", VERSIONS;

    // GGUF.
    GgufMagic "gguf-magic", Invalid, Spec("GGUF: File structure"), GGUF,
        "A file that is named `.gguf` begins with `GGUF`.", "the file does not begin as .gguf files do", NO_HEADER;
    GgufVersion "gguf-version", Unsupported, Spec("GGUF: File structure"), GGUF,
        "The version is 2 or 3.", "unsupported version", TYPE;
    GgufTruncated "gguf-truncated", Invalid, Spec("GGUF: File structure"), GGUF,
        "The header, with all lengths that it gives, is within the file.",
        "the file ends before its header does", DAMAGED;
    GgufUtf8 "gguf-utf8", Invalid, Spec("GGUF: File structure"), GGUF,
        "Keys, strings and names are UTF-8.", "a key, a string or a name is not UTF-8", WRITER;
    GgufName "gguf-name", Invalid, Spec("GGUF: gguf_tensor_info_t"), GGUF,
        "The name of a tensor takes at most 255 bytes.", "the name of a tensor is too long", WRITER;
    GgufDuplicateKey "gguf-duplicate-key", Invalid, Implied("readers differ on which of them counts"), GGUF,
        "The keys of the metadata are unique.", "duplicate key", AMBIGUOUS;
    GgufDuplicateName "gguf-duplicate-name", Invalid, Implied("readers differ on which of them counts"), GGUF,
        "The names of tensors are unique.", "duplicate tensor name", AMBIGUOUS;
    GgufKey "gguf-key", Invalid, Fault("llama.cpp #24884"), GGUF,
        "A key of the metadata takes 1 to 65,535 bytes.", "a key is empty or too long", WRITER;
    GgufValueType "gguf-value-type", Invalid, Spec("GGUF: File structure"), GGUF,
        "The type of a value is one from 0 to 12.", "unknown value type", COUNTED;
    GgufBoolValue "gguf-bool-value", Invalid, Spec("GGUF: File structure"), GGUF,
        "A bool is 0 or 1.", "a bool is neither 0 nor 1", WRITER;
    GgufDepth "gguf-depth", Limit, Policy("the reader keeps a counter a level; no writer needs as many"), GGUF,
        "Arrays are nested at most 16 deep.", "arrays are nested too deep", WRITER;
    GgufAlignment "gguf-alignment", Invalid, Spec("GGUF: general.alignment"), GGUF,
        "`general.alignment` is a power of two, at least 8, of type u32.",
        "the alignment is not a power of two of type u32, or less than 8", WRITER;
    GgufTensorType "gguf-tensor-type", Unsupported, Spec("GGUF: ggml_type"), GGUF,
        "The type of a tensor is one that this reader supports.", "unknown tensor type", TYPE;
    GgufShape "gguf-shape", Invalid, Spec("GGUF: gguf_tensor_info_t"), GGUF,
        "There are at most 8 dimensions, elements can be counted, and a row is whole blocks of them.",
        "the rows are not whole blocks, or there are too many elements or dimensions", COUNTED;
    GgufLimits "gguf-limits", Note, Spec("GGUF: gguf_tensor_info_t"), GGUF,
        "A tensor has at most 4 dimensions, and a name of at most 64 bytes.",
        "a tensor has more dimensions or a longer name than the specification names",
        "The default build of ggml refuses the file: load it with a program whose build allows such tensors.";
    GgufOffset "gguf-offset", Invalid, Spec("GGUF: gguf_tensor_info_t"), GGUF,
        "The data of a tensor is aligned.", "the data is not aligned", WRITER;
    GgufBounds "gguf-bounds", Invalid, Spec("GGUF: gguf_tensor_info_t"), GGUF,
        "The data of a tensor is within the file.", "the data exceeds the file", DAMAGED;
    GgufOverlap "gguf-overlap", Invalid, Policy("no byte belongs to two tensors"), GGUF,
        "No two tensors share data.", "two tensors share data", AMBIGUOUS;
    GgufContiguous "gguf-contiguous", Invalid, Policy("no byte belongs to no tensor"), GGUF,
        "The data of each tensor begins where that of the one before it, aligned, ends.",
        "the data does not begin where that of the tensor before it ends", WRITER;
    GgufPadding "gguf-padding", Invalid, Spec("GGUF: File structure"), GGUF,
        "Bytes of padding are zero.", "a byte of padding is not zero", WRITER;
    GgufTrailing "gguf-trailing", Invalid, Policy("no byte belongs to no tensor"), GGUF,
        "Only padding follows the data of the tensors.",
        "bytes follow the last tensor", APPENDED_TO_TENSORS;
    GgufSplit "gguf-split", Invalid, Spec("llama.cpp: gguf-split"), GGUF,
        "Split files are numbered, and agree on the number of files and tensors; the name of the first ends in `-00001-of-` and that number.",
        "the files do not agree on the number of files or tensors", MISSING_PART;
    GgufSplitFile "gguf-split-file", Invalid, Implied("tensors are missing"), GGUF,
        "Every one of several files is a regular file in the folder of the first, or a link to the blobs of a hub's cache.",
        "one of the files is missing, or is a link", MISSING_PART;

    // Values of GGUF that loaders rely on.
    GgufArchitecture "gguf-architecture", Invalid, Spec("GGUF: general.architecture"), GGUF,
        "`general.architecture` is a string.", "the architecture is not a string", WRITER;
    GgufTokenizerType "gguf-tokenizer-type", Invalid, Fault("llama.cpp #24888"), GGUF,
        "`tokens` and `merges` of `tokenizer.ggml` are arrays of string, `scores` of f32, `token_type` and `suppress_tokens` of i32 or u32.",
        "an array of the tokenizer is of another type", LOADER;
    GgufTokenizerLength "gguf-tokenizer-length", Invalid, Fault("llama.cpp #20735"), GGUF,
        "`scores` and `token_type` of `tokenizer.ggml` have one element for each token.",
        "an array has more or fewer elements than there are tokens", LOADER;
    GgufTokenId "gguf-token-id", Invalid, Fault("GHSA-g4cc-763q-h9h6, llama.cpp #3634, mistral.rs #2225"), GGUF,
        "The id of a special token is an integer below the number of tokens, or -1 for none.",
        "the id of a special token is out of range", LOADER;
    GgufByteToken "gguf-byte-token", Invalid, Fault("llama.cpp #26511, #27226"), GGUF,
        "A token of type 6 that begins with `<0x` continues with two hexadecimal digits and `>`.",
        "a byte token has other than two hexadecimal digits", LOADER;
    GgufCount "gguf-count", Invalid, Fault("llama.cpp #26051, #2247"), GGUF,
        "Counts of a known architecture are integers in range: up to 1,024 blocks, 4,096 experts and 32 bits for lengths and heads; blocks, the length of embeddings and heads are above zero.",
        "a count is not an integer, or out of range", LOADER;
    GgufExperts "gguf-experts", Invalid, Fault("llama.cpp #28345"), GGUF,
        "Where a known architecture has experts, 1 to all of them are used.",
        "more experts are used than there are, or none", LOADER;

    // NumPy.
    NpyMagic "npy-magic", Invalid, Spec("NEP 1: Format Specification"), NPY,
        "A NumPy array begins with 93 4E 55 4D 50 59.", "the file does not begin as .npy files do", NO_HEADER;
    NpyVersion "npy-version", Unsupported, Spec("NEP 1: Format Specification"), NPY,
        "The version is 1.0, 2.0 or 3.0.", "unsupported version", TYPE;
    NpyHeader "npy-header", Invalid, Spec("NEP 1: Format Specification"), NPY,
        "The header is a Python literal: a dictionary of `descr`, `fortran_order` and `shape`, each once.",
        "invalid NumPy header", WRITER;
    NpyDtype "npy-dtype", Unsupported, Policy("the size of an element is not known"), NPY,
        "The dtype is one that NumPy writes.", "the array has a dtype that is not known", TYPE;
    NpyObjects "npy-objects", Unsupported, Policy("objects are pickled, and unpickling can run code"), NPY,
        "The elements of an array are no Python objects.", "the array holds Python objects, which are pickled",
        "NumPy pickles arrays of Python objects, and unpickling can run code. Save numbers or text instead.";
    NpyShape "npy-shape", Invalid, Implied("no file is so long"), NPY,
        "The bytes of the array can be counted.", "the bytes of the array cannot be counted", COUNTED;
    NpySize "npy-size", Invalid, Spec("NEP 1: Format Specification"), NPY,
        "The data has the length of the array, and ends the file.",
        "the array has more or less data than its header needs", DAMAGED;

    // Archives of NumPy files.
    NpzMagic "npz-magic", Invalid, Spec("APPNOTE 4.3.7"), NPZ,
        "A file that is named `.npz` begins with a member, or is an archive without any.",
        "the file does not begin as .npz files do", NO_HEADER;
    ZipEndRecord "zip-end-record", Invalid, Spec("APPNOTE 4.3.16"), ZIP,
        "The file ends with its end record, of one archive, without a comment.",
        "the file does not end with the end record of an archive", DAMAGED;
    ZipEndRecord64 "zip-end-record-64", Invalid, Spec("APPNOTE 4.3.14"), ZIP,
        "An end record for large archives is needed, complete, at the offset that its locator gives, and agrees with the other.",
        "the archive has two end records, and they do not agree", AMBIGUOUS;
    ZipDirectory "zip-directory", Invalid, Spec("APPNOTE 4.3.12"), ZIP,
        "The directory lies right before the end record, and is of members without comments.",
        "invalid directory", AMBIGUOUS;
    ZipCount "zip-count", Invalid, Spec("APPNOTE 4.3.16"), ZIP,
        "There are as many members as the end record counts.", "there are more or fewer members than are counted",
        AMBIGUOUS;
    ZipContiguous "zip-contiguous", Invalid, Policy("no byte belongs to two members, or to none"), ZIP,
        "Members lie one after the other, from the first byte to the directory.",
        "a member does not begin where the one before it ends", AMBIGUOUS;
    ZipBounds "zip-bounds", Invalid, Spec("APPNOTE 4.3.7"), ZIP,
        "A member begins where the directory says, and ends before it.",
        "a member is not where the directory says", DAMAGED;
    ZipHeader "zip-header", Invalid, Spec("APPNOTE 4.3.7"), ZIP,
        "A member's own header agrees with the directory.", "the header does not agree with the directory",
        AMBIGUOUS;
    ZipDescriptor "zip-descriptor", Invalid, Spec("APPNOTE 4.3.9"), ZIP,
        "The data descriptor after a member agrees with the directory.",
        "the data descriptor does not agree with the directory", AMBIGUOUS;
    ZipExtra "zip-extra", Invalid, Spec("APPNOTE 4.5"), ZIP,
        "Extra fields are whole, and of times, owners or large sizes.", "invalid extra field",
        AMBIGUOUS;
    ZipAttributes "zip-attributes", Invalid, Implied("readers skip such a member, or make a folder or a link of it"), ZIP,
        "The attributes of each member are those of a regular file: no directory, volume, device or link.",
        "the attributes are not those of a regular file", AMBIGUOUS;
    ZipName "zip-name", Invalid, Implied("readers differ on which name it is"), ZIP,
        "The name of each member is UTF-8 without a zero in it.", "the name is not UTF-8, or has a zero in it", AMBIGUOUS;
    NpzName "npz-name", Note, Policy("NumPy reads the arrays of such an archive"), NPZ,
        "Each member is an array.", "a member is no array", "zten does not read members that are no arrays. Take them out of the archive if it should hold arrays alone.";
    NpzDuplicateName "npz-duplicate-name", Invalid, Implied("readers differ on which of them counts"), NPZ,
        "No two members have one name, with or without their suffix.", "duplicate member name", AMBIGUOUS;
    ZipEncrypted "zip-encrypted", Invalid, Policy("what cannot be read cannot be checked"), ZIP,
        "No member is encrypted.", "a member is encrypted", "What is encrypted cannot be checked. Decrypt it first.";
    ZipFeature "zip-feature", Unsupported, Policy("no writer of tensors uses others"), ZIP,
        "Members are stored or deflated, by version 4.5 of zip at most.", "unsupported feature of zip", FEATURE;
    ZipStoredSize "zip-stored-size", Invalid, Implied("both sizes count the same bytes"), ZIP,
        "A member that is not compressed has one size.", "a member is not compressed, and has two sizes", AMBIGUOUS;
    ZipDeflate "zip-deflate", Invalid, Spec("RFC 1951"), ZIP,
        "Compressed data can be decompressed, and ends with its last byte.",
        "the compressed data cannot be decompressed, or does not end with its last byte", DAMAGED;
    // A bit that is flipped in compressed data may change how much comes of it.
    ZipLength "zip-length", Invalid, Spec("APPNOTE 4.4.9"), ZIP,
        "A member has the length that the directory gives.", "a member does not have the length that the directory gives", DAMAGED;
    ZipCrc "zip-crc", Invalid, Spec("APPNOTE 4.4.7"), ZIP,
        "A member has its checksum.", "a member does not have its checksum", DAMAGED;

    // Checkpoints of PyTorch.
    TorchFolder "torch-folder", Invalid, Spec("torch.save: zip"), TORCH,
        "All members are in one folder, which has one `data.pkl`.",
        "the members are not in one folder that has one data.pkl", CHECKPOINT;
    TorchMember "torch-member", Invalid, Policy("no byte belongs to what readers pass over"), TORCH,
        "Members are `data/` and a number, `data.pkl`, `version`, `byteorder` and what else PyTorch notes.",
        "a member is none of those that PyTorch writes", CHECKPOINT;
    TorchDuplicateMember "torch-duplicate-member", Invalid, Implied("readers differ on which of them counts"), TORCH,
        "No two members have one name.", "duplicate member name", AMBIGUOUS;
    TorchScript "torch-script", Unsupported, Policy("it is a program, which runs when it is loaded"), TORCH,
        "The archive has no code of a TorchScript program.", "this is a TorchScript program, which runs when it is loaded; zten reads the tensors of its data", PROGRAM;
    TorchVersion "torch-version", Invalid, Spec("torch.save: zip"), TORCH,
        "`version` is a number from 1 to 10, and `byteorder`, where it is there, `little` or `big`; what else PyTorch notes are numbers and text.",
        "the version, the byte order or another note is not one that is known", "Save the checkpoint again with a current version of PyTorch.";
    TorchPickle "torch-pickle", Invalid, Spec("PEP 307, PEP 3154, PEP 574"), TORCH,
        "The pickle is complete, in an archive of a protocol from 2 to 5, and each instruction finds the values that it takes.",
        "invalid pickle", DAMAGED;
    TorchOpcode "torch-opcode", Invalid, Policy("PyTorch needs none of them, and some run code"), TORCH,
        "The instructions are those of the protocol that hold data, in an archive those with which PyTorch writes values, and the protocol stands at the start alone.",
        "an instruction of the pickle is not allowed", PICKLE;
    TorchGlobal "torch-global", Invalid, Policy("it may run code"), TORCH,
        "Globals are those that PyTorch imports with `weights_only=True`, and the classes of plain values of the standard library and of NumPy that `zten explain torch-global` lists.",
        "a global is not allowed", GLOBAL;
    TorchCall "torch-call", Invalid, Policy("nothing is guessed"), TORCH,
        "Functions, classes and states have the arguments that PyTorch writes.",
        "wrong arguments for a function", CHECKPOINT;
    TorchPersistentId "torch-persistent-id", Invalid, Spec("torch.save: storages"), TORCH,
        "A persistent id is that of a storage: its class, its key, a device that stores something and the number of elements.",
        "a persistent id is not that of a storage", CHECKPOINT;
    TorchMemo "torch-memo", Invalid, Policy("no writer keeps two values under one number"), TORCH,
        "Values are kept under ascending numbers, before they are referred to.",
        "a value is kept out of order, or was never kept", CHECKPOINT;
    TorchTrailing "torch-trailing", Invalid, Policy("no byte belongs to what readers pass over"), TORCH,
        "The pickle ends with its first STOP.", "bytes follow the end of the pickle", APPENDED;
    TorchDuplicateKey "torch-duplicate-key", Invalid, Implied("readers differ on which of them counts"), TORCH,
        "The keys of a dictionary are unique, and so are the names of attributes.", "duplicate key", AMBIGUOUS;
    TorchDuplicateName "torch-duplicate-name", Invalid, Implied("readers differ on which of them counts"), TORCH,
        "No two tensors have one name: the keys that lead to them, with dots between.",
        "duplicate tensor name", AMBIGUOUS;
    TorchStorage "torch-storage", Invalid, Spec("torch.save: storages"), TORCH,
        "Every storage is a member of its length, all references to it agree, and every such member is a storage that a tensor has.",
        "a storage is not a member of its length", DAMAGED;
    TorchNoChecksums "torch-no-checksums", Note, Policy("PyTorch writes such archives if it is told so"), TORCH,
        "The members of an archive have CRC-32 checksums.",
        "the archive has no checksums, so damage to its tensors is not noticed",
        "Compare the digest of the file with the digest that its source gives.";
    TorchByteOrder "torch-byte-order", Note, Policy("PyTorch does not swap their bytes"), TORCH,
        "The elements of a big-endian archive that take several bytes are in storages with a type.",
        "PyTorch reads other values on a little-endian machine, because this storage has no type that says how its bytes are swapped",
        "Save the checkpoint again on a little-endian machine.";
    TorchTensor "torch-tensor", Invalid, Implied("its elements are not there"), TORCH,
        "A tensor has as many strides as dimensions, its elements lie within its storage, and only floats require gradients.",
        "the elements of a tensor do not lie within its storage, or cannot require gradients", CHECKPOINT;
    TorchDtype "torch-dtype", Unsupported, Policy("zTensor has no such elements"), TORCH,
        "The dtype is one that this reader supports.", "unsupported dtype", TYPE;
    TorchValue "torch-value", Unsupported, Policy("it is not read"), TORCH,
        "Tensors are dense, or sparse with coordinates or compressed rows, and show their elements as they are stored.",
        "zten does not read tensors of this kind", TYPE;
    TorchWeightsOnly "torch-weights-only", Note, Policy("zten builds the values without calling anything"), TORCH,
        "PyTorch knows the instructions and imports of the pickle when it loads with `weights_only=True`.",
        "PyTorch does not read the file with `weights_only=True`",
        "Convert it to safetensors, or add the classes with `torch.serialization.add_safe_globals` where you trust them.";
    TorchLeftOut "torch-left-out", Note, Policy("zten has no form for it"), TORCH,
        "Values are tensors, arrays, dictionaries, lists, numbers, texts, bytes, flags and None.",
        "values are left out, because zten has no form for them",
        "The tensors are complete. Load the file with the program that wrote it if you need the other values.";

    // Quantized tensors that are stored as several tensors. A check finds them by the conventions of `docs/quantized.md`.
    QuantParts "quant-parts", Note, Policy("its tensors have a meaning without the convention, too"), ANY,
        "Tensors with the names and dtypes of a quantized tensor have the shapes of its convention.",
        "tensors are named as the parts of a quantized tensor, and contradict each other", PARTS;
    QuantScale "quant-scale", Note, Policy("all values with this scale are NaN or infinite"), ANY,
        "Each scale of a quantized tensor is finite.", "a scale is NaN or infinite", DAMAGED_VALUES;
    QuantIndex "quant-index", Invalid, Fault("GPTQModel #2949"), ANY,
        "Each number in `g_idx` of a GPTQ tensor is that of a group with a scale; a negative number counts from the end.",
        "a row is in a group that has no scale", LOADER;
    QuantState "quant-state", Invalid, Policy("bitsandbytes fails to load it"), ANY,
        "`quant_state.bitsandbytes__nf4` and `quant_state.bitsandbytes__fp4` of a tensor of bitsandbytes are JSON objects.",
        "the state of a quantized tensor is no JSON object", WRITER;

    // Of several formats.
    TensorBoolValue "tensor-bool-value", Invalid, Policy("readers differ on what another byte is"), ANY,
        "A bool is 0 or 1.", "a bool is {}: expected 0 or 1", WRITER;
    LimitHeader "limit-header", Limit, Policy("memory while opening follows the headers"), ANY,
        "A header takes at most 64 KiB (.npy), 100 MB (safetensors, GGUF, an index), 64 MiB (.npz, a pickle), and what is kept of it 128 MiB.",
        "the header exceeds the limit", LARGE;

    FormatUnknown "format-unknown", Unsupported, Policy("nothing is guessed"), ANY,
        "The file is of a format that this reader knows.", "this is no tensor file that zten knows", UNKNOWN;
    FormatEmpty "format-empty", Invalid, Implied("it holds nothing"), ANY,
        "The file is not empty.", "the file is empty", EMPTY;
    FormatName "format-name", Invalid, Policy("loaders that go by the name see another file"), ANY,
        "A file whose name ends in `.zt`, `.safetensors`, `.gguf`, `.npy` or `.npz` is of that format, and one whose name ends in `.pt`, `.pth`, `.ckpt`, `.pth.tar`, `.pkl` or `.pickle`, or is `adapter_model.bin` or `pytorch_model*.bin`, is a checkpoint of PyTorch or TensorFlow, or a pickle (a `.pth` file may also be text, a list of paths for Python); no other file calls a function when it is unpickled.",
        "the name is that of another format", NAME;

    // Formats that zten recognizes but does not read.
    FormatPickle "format-pickle", Unsupported, Policy("reading it runs code"), NONE,
        "The file is not a pickle.", "this is a pickle of Python, which can call any function when it is loaded", PICKLE;
    FormatTorch "format-torch", Unsupported, Policy("PyTorch gave the form up in 2017"), NONE,
        "The file is not a tar archive of PyTorch before 0.1.10.",
        "this is a tar archive of PyTorch before 0.1.10, with pickles in it", PICKLE;
    FormatTorchExport "format-torch-export", Unsupported, Policy("it holds a program"), NONE,
        "The file is not a program that `torch.export` saved.",
        "this is a program that torch.export saved (.pt2)", PROGRAM;
    FormatJoblib "format-joblib", Invalid, Policy("reading it runs code"), NONE,
        "The file is not one of joblib.",
        "this is a file of joblib, which is a pickle of Python: loading it runs code of its author", JOBLIB;
    FormatTar "format-tar", Unsupported, Policy("it has no tensors of its own"), NONE,
        "The file is not a tar archive.", "this is a tar archive", "Unpack it, and check what is in it.";
    FormatZip "format-zip", Unsupported, Policy("it has no tensors of its own"), NONE,
        "The file is no zip archive of anything but NumPy files or a checkpoint.",
        "this is a zip archive of other files than NumPy's and PyTorch's",
        "Unpack it, and check what is in it.";
    FormatKeras "format-keras", Unsupported, Policy("it is not read"), NONE,
        "The file is not an archive of Keras.",
        "this is an archive of Keras: a configuration, which may name code, and weights in HDF5", CONVERT;
    FormatHdf5 "format-hdf5", Unsupported, Policy("it is not read"), NONE,
        "The file is not an HDF5 file.", "this is an HDF5 file", CONVERT;
    FormatOnnx "format-onnx", Unsupported, Policy("it is not read"), NONE,
        "The file is not an ONNX model.", "this is an ONNX model, as far as its first bytes tell", CONVERT;
    FormatSavedModel "format-saved-model", Unsupported, Policy("it is not read"), NONE,
        "The file is not a `SavedModel` of TensorFlow.",
        "this is a SavedModel of TensorFlow, as far as its first bytes tell: a program, which is run when it is loaded", CONVERT;
    FormatTflite "format-tflite", Unsupported, Policy("it is not read"), NONE,
        "The file is not a `TFLite` model.", "this is a TFLite model", CONVERT;
    FormatGgml "format-ggml", Unsupported, Policy("the format was given up"), NONE,
        "The file is not a GGML file.", "this is a GGML file, which is older than GGUF", CONVERT;
    FormatFlax "format-flax", Unsupported, Policy("it is not read"), NONE,
        "The file is not one that Flax wrote in `MessagePack`.",
        "this is a checkpoint of Flax in MessagePack, as far as its first bytes tell", FLAX;
    FormatTensorflow "format-tensorflow-checkpoint", Unsupported, Policy("it is not read"), NONE,
        "The file is not part of a checkpoint of TensorFlow.",
        "this is part of a checkpoint of TensorFlow", TENSORFLOW;
    FormatCoreMl "format-coreml", Unsupported, Policy("it is not read"), NONE,
        "The file is not a model of Core ML.", "this is a model of Core ML, as far as its first bytes tell", CORE_ML;
    FormatFasttext "format-fasttext", Unsupported, Policy("it is not read"), NONE,
        "The file is not a model of fastText.", "this is a model of fastText", FASTTEXT;
    FormatWord2vec "format-word2vec", Unsupported, Policy("it is not read"), NONE,
        "The file is not one of word vectors as word2vec writes them.",
        "this is a file of word vectors (word2vec), as far as its first bytes tell", WORD2VEC;
    FormatMatlab "format-matlab", Unsupported, Policy("it is not read"), NONE,
        "The file is not one of MATLAB.", "this is a MATLAB file", MATLAB;

    // Compressed files, which zten does not decompress.
    FormatGzip "format-gzip", Unsupported, Policy("it is not looked into"), NONE,
        "The file is not compressed with gzip.", "this is compressed with gzip; not looked into", COMPRESSED;
    FormatBzip2 "format-bzip2", Unsupported, Policy("it is not looked into"), NONE,
        "The file is not compressed with bzip2.", "this is compressed with bzip2; not looked into", COMPRESSED;
    FormatXz "format-xz", Unsupported, Policy("it is not looked into"), NONE,
        "The file is not compressed with xz.", "this is compressed with xz; not looked into", COMPRESSED;
    FormatZstd "format-zstd", Unsupported, Policy("it is not looked into"), NONE,
        "The file is not compressed with zstd.", "this is compressed with zstd; not looked into", COMPRESSED;
    FormatLz4 "format-lz4", Unsupported, Policy("it is not looked into"), NONE,
        "The file is not compressed with lz4.", "this is compressed with lz4; not looked into", COMPRESSED;
    FormatZlib "format-zlib", Unsupported, Policy("it is not looked into"), NONE,
        "The file is not compressed with zlib.",
        "this is compressed with zlib, as joblib compresses pickles; not looked into", ZLIB;
    Format7z "format-7z", Unsupported, Policy("it is not looked into"), NONE,
        "The file is not a 7z archive.", "this is a 7z archive, which is compressed; not looked into", COMPRESSED;

    // Files that a failed download leaves in place of the real file.
    FormatLfsPointer "format-lfs-pointer", Unsupported, Policy("the file is somewhere else"), NONE,
        "The file is not a Git LFS pointer.", "this is a Git LFS pointer, not the file: run `git lfs pull`", LFS;
    FormatHtml "format-html", Unsupported, Policy("the file is somewhere else"), NONE,
        "The file is not a page of HTML.", "this is an HTML page, not the file", PAGE;
    FormatXml "format-xml", Unsupported, Policy("the file is somewhere else"), NONE,
        "The file is not XML.", "this is XML, not the file", PAGE;
    FormatJsonError "format-json-error", Unsupported, Policy("the file is somewhere else"), NONE,
        "The file is not an error in JSON.", "this is an error message of a server in JSON, not the file", PAGE;
}

/// The rules on groups of tensors that are one quantized tensor, in every format.
pub(crate) static QUANTIZED: QuantizedRules = QuantizedRules {
    parts: Rule::QuantParts.row(),
    scale: Rule::QuantScale.row(),
    index: Rule::QuantIndex.row(),
    state: Rule::QuantState.row(),
};

/// Returns the rows of all rules in this catalog.
pub fn rows() -> impl Iterator<Item = &'static Row> {
    Rule::ALL.iter().map(|rule| rule.row())
}
