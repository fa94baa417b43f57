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
/// Advice for a .npy file in which a second array follows the first.
pub(crate) const SECOND_ARRAY: &str = "`numpy.save` was called again on the same open file. Save each array to its own file, or all with `numpy.savez`.";
/// Advice for a .npy header that spells a number as `np.int64(3)`.
pub(crate) const NUMPY_SCALAR: &str = "A program wrote the header with the `repr` of NumPy 2. Save the array again with `numpy.save`.";
/// Advice for a file whose writer did not follow the specification of the format.
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
const OVERLAY: &str = "Programs differ on which of the two tensors they load. Ask for files that hold each tensor once.";
const LOADER: &str =
    "Programs that trust this value have crashed. Write the file again with a newer converter.";
const PARTS: &str = "zten shows the tensors as they are stored. If they are the parts of one quantized tensor, programs that know the convention fail or compute wrong values: write the file again.";
const DAMAGED_VALUES: &str = "The model had such values before it was quantized, or the file was damaged. Compare the tensor with the model that was quantized.";
const TYPE: &str =
    "Other programs may read the tensor. Convert the file with the program that wrote it.";
const VERSION: &str =
    "Other programs may read this version. Convert the file with the program that wrote it.";
const KIND: &str = "Load the checkpoint with PyTorch, and save dense tensors in its place.";
const FEATURE: &str = "Other programs may read the archive. Write it again, with members that are stored or deflated.";
pub(crate) const CHECKPOINT: &str = "Save the tensors again with `torch.save`, or ask for safetensors. Without that, load the file with `weights_only=True` only.";
const GLOBAL: &str = "Do not load the file with `weights_only=False`: unpickling imports this name, and calls it if the pickle says so. To read the tensors without importing anything, use `--tolerate torch-global`. A policy can accept a class that you know: `allow-globals`.";
const PROGRAM: &str = "Do not load the file unless you trust its author: loading runs the program. Ask for the weights as safetensors.";
const PICKLE: &str = "Do not load the file unless you trust its author: a pickle can call any function. Ask for safetensors.";
const CONVERT: &str = "Convert the file with the program that wrote it, and check the result.";
const UNKNOWN: &str = "If the file should hold tensors, fetch it again, or convert it with the program that wrote it.";
const EMPTY: &str = "A download or copy may have failed: fetch the file again.";
const NAME: &str = "Give the file the name of its format, and do not load it by its present name.";
const JOBLIB: &str = "Do not load the file: loading runs code of its author. On a machine where nothing can be lost, load it with joblib.load, and save the arrays with numpy.savez or safetensors.";
const FLAX: &str =
    "Load the file with flax.serialization.msgpack_restore, and save the arrays as safetensors.";
const TENSORFLOW: &str = "Load the checkpoint with tf.train.load_checkpoint, and save the arrays with numpy.savez or safetensors.";
const CORE_ML: &str =
    "Read the weights with coremltools, or get the model in the format that it was converted from.";
const FASTTEXT: &str =
    "Load the file with the fasttext package, and save the vectors with numpy.save.";
const WORD2VEC: &str = "Load the file with gensim's KeyedVectors.load_word2vec_format, and save the vectors with numpy.save.";
const MATLAB: &str = "Load the file with scipy.io.loadmat (version 7.3: h5py), and save the arrays with numpy.savez.";
const COMPRESSED: &str = "Decompress the file, and check the result.";
const ZLIB: &str = "If joblib wrote the file, do not load it: loading runs code of its author. Otherwise decompress the file, and check the result.";
const LFS: &str =
    "Run `git lfs install` once and `git lfs pull` in the repository, or download the file itself.";
const PAGE: &str = "The download did not get the file: look at the page for the reason (a login, a license or a wrong address), and fetch the file again.";

/// All advice texts that may replace the advice of a rule, because the error has a particular cause.
pub const CAUSES: [&str; 9] = [
    DAMAGED,
    CHECKPOINT,
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
        "A file begins with 8 bytes that give the length of the header.", "the file ends before its header does", DAMAGED;
    SafetensorsHeaderLength "safetensors-header-length", Invalid, Spec("safetensors: Format"), SAFETENSORS,
        "The header ends within the file, and has at most 100,000,000 bytes.",
        "the header length exceeds the file or the maximum", DAMAGED;
    SafetensorsHeaderStart "safetensors-header-start", Invalid, Spec("safetensors: Format"), SAFETENSORS,
        "The header begins with a brace.", "the header does not begin with a brace", NO_HEADER;
    SafetensorsJson "safetensors-json", Invalid, Spec("safetensors: Format"), SAFETENSORS,
        "The header is one JSON map. Each tensor is a map of `dtype`, `shape` and `data_offsets`, and `__metadata__` is a map of strings.",
        "invalid header", WRITER;
    SafetensorsDuplicateKey "safetensors-duplicate-key", Invalid, Spec("safetensors: Format"), SAFETENSORS,
        "The keys of `__metadata__` are unique, and the header has at most one `__metadata__`. In a value that `zten.json-keys` lists as JSON text, the keys of each map are unique.", "duplicate key", AMBIGUOUS;
    SafetensorsDuplicateName "safetensors-duplicate-name", Invalid, Spec("safetensors: Format"), SAFETENSORS,
        "The names of tensors are unique.", "duplicate tensor name", AMBIGUOUS;
    SafetensorsDtype "safetensors-dtype", Unsupported, Policy("zTensor has no elements of this type"), SAFETENSORS,
        "The `dtype` of a tensor is one that zten supports.", "unsupported dtype", TYPE;
    SafetensorsExtent "safetensors-extent", Invalid, Spec("safetensors: Format"), SAFETENSORS,
        "The data of a tensor has as many bytes as its shape and dtype need.",
        "the data has more or fewer bytes than shape and dtype need", WRITER;
    SafetensorsContiguous "safetensors-contiguous", Invalid, Spec("safetensors: Format"), SAFETENSORS,
        "The data of each tensor begins where the data of the tensor before it ends.",
        "the data does not begin where the data of the tensor before it ends", WRITER;
    SafetensorsDataLength "safetensors-data-length", Invalid, Spec("safetensors: Format"), SAFETENSORS,
        "The file ends where the data of the last tensor ends.", "bytes follow the last tensor, or are missing from it", DAMAGED;
    SafetensorsAlignment "safetensors-alignment", Note, Policy("the format does not require alignment"), SAFETENSORS,
        "The data of a tensor begins at an offset in the file that is a multiple of the width of its elements.",
        "the data does not begin at a multiple of the width of its elements, so programs that map the file have to copy it",
        "`zten convert IN OUT.safetensors` writes a file in which all tensors are aligned.";

    // Rules on the index of a model that is stored in several files.
    IndexJson "index-json", Invalid, Implied("an index of another form cannot be read"), INDEX,
        "The index is one JSON map. Its map `weight_map` leads from names of tensors to names of files, and it may have a map `metadata`.",
        "invalid index", WRITER;
    IndexKey "index-key", Note, Policy("loaders use no other keys"), INDEX,
        "The keys of the index are `weight_map` and `metadata`.", "the index has a key other than `weight_map` and `metadata`, which zten ignores",
        "Put the key into `metadata` if programs should read its value.";
    IndexDuplicateKey "index-duplicate-key", Invalid, Implied("readers differ on which of two equal keys they use"), INDEX,
        "The keys of each map in the index are unique.", "duplicate key", AMBIGUOUS;
    IndexFileName "index-file-name", Invalid, Policy("a name must not lead out of the folder"), INDEX,
        "The name of each file has no folder and no control character. The names of all files end in `.safetensors`, or all end in `.bin`, `.pt` or `.pth`.",
        "invalid file name: expected a name without a folder that ends in .safetensors, .bin, .pt or .pth", WRITER;
    IndexFile "index-file", Invalid, Implied("tensors are missing"), INDEX,
        "Every file that the index names is a regular file in the folder of the index, or a link to a blob in a hub's cache.",
        "a file that the index names is missing, or is a link", MISSING;
    IndexTensor "index-tensor", Invalid, Implied("a tensor is missing"), INDEX,
        "Each file holds all tensors that the index assigns to it.",
        "a file lacks a tensor that the index assigns to it", VERSIONS;
    IndexUnnamed "index-unnamed", Note, Policy("the index decides which tensors are read"), INDEX,
        "The index names every tensor of its files.", "a file has a tensor that the index does not name, so zten leaves the tensor out",
        "Programs that load whole files read the tensor. Add it to the index if it belongs to the model.";
    IndexCopy "index-copy", Note, Policy("programs that load whole files may read the copy that the index does not select"), INDEX,
        "No tensor is in two files of the index.", "a tensor is in two files",
        "`zten convert` writes files that hold each tensor once.";
    IndexOverlay "index-overlay", Invalid, Implied("programs that load whole files may read the tensor that the index does not select"), INDEX,
        "If two files of the index have a tensor of the same name, the dtypes, shapes and bytes of both are equal.",
        "two files have different tensors of the same name", OVERLAY;
    IndexTotalSize "index-total-size", Note, Policy("programs that load the files do not use the number"), INDEX,
        "`total_size` is the size in bytes of all tensors, or of all files.", "total_size does not match the tensors or the files", VERSIONS;
    IndexTotalParameters "index-total-parameters", Note, Policy("programs that load the files do not use the number"), INDEX,
        "`total_parameters` is the number of elements of all tensors.", "total_parameters does not match the tensors",
        "Some writers leave out buffers, or count the weights of a quantized model. If the number should match, the index and the files may be of different versions.";
    IndexMetadata "index-metadata", Invalid, Implied("readers differ on whether they use the metadata of the index or of its files"), INDEX,
        "The metadata of the index and of its files agree.",
        "the files do not agree on the metadata", VERSIONS;

    // GGUF.
    GgufMagic "gguf-magic", Invalid, Spec("GGUF: File structure"), GGUF,
        "A file that is named `.gguf` begins with `GGUF`.", "the file does not begin with the magic of .gguf files", NO_HEADER;
    GgufVersion "gguf-version", Unsupported, Spec("GGUF: File structure"), GGUF,
        "The version is 2 or 3.", "unsupported version", VERSION;
    GgufTruncated "gguf-truncated", Invalid, Spec("GGUF: File structure"), GGUF,
        "The header ends within the file, with every string and array whose length it gives.",
        "the file ends before its header does", DAMAGED;
    GgufUtf8 "gguf-utf8", Invalid, Spec("GGUF: File structure"), GGUF,
        "Keys, strings and names are UTF-8.", "a key, a string or a name is not UTF-8", WRITER;
    GgufName "gguf-name", Invalid, Spec("GGUF: gguf_tensor_info_t"), GGUF,
        "The name of a tensor has at most 255 bytes.", "the name of a tensor is longer than 255 bytes", WRITER;
    GgufDuplicateKey "gguf-duplicate-key", Invalid, Implied("readers differ on which of two equal keys they use"), GGUF,
        "The keys of the metadata are unique.", "duplicate key", AMBIGUOUS;
    GgufDuplicateName "gguf-duplicate-name", Invalid, Implied("readers differ on which of two tensors with the same name they use"), GGUF,
        "The names of tensors are unique.", "duplicate tensor name", AMBIGUOUS;
    GgufKey "gguf-key", Invalid, Fault("llama.cpp #24884"), GGUF,
        "A key of the metadata has 1 to 65,535 bytes.", "a key is empty or too long", WRITER;
    GgufValueType "gguf-value-type", Invalid, Spec("GGUF: File structure"), GGUF,
        "The type of a value is a number from 0 to 12.", "unknown value type", COUNTED;
    GgufBoolValue "gguf-bool-value", Invalid, Spec("GGUF: File structure"), GGUF,
        "A bool is 0 or 1.", "a bool is neither 0 nor 1", WRITER;
    GgufDepth "gguf-depth", Limit, Policy("the reader keeps one counter for each level, and no writer nests values that deeply"), GGUF,
        "Arrays are nested at most 16 levels deep.", "arrays are nested more than 16 levels deep", WRITER;
    GgufAlignment "gguf-alignment", Invalid, Spec("GGUF: general.alignment"), GGUF,
        "`general.alignment` is a power of two, at least 8, of type u32.",
        "the alignment is not a power of two of type u32, or is less than 8", WRITER;
    GgufTensorType "gguf-tensor-type", Unsupported, Spec("GGUF: ggml_type"), GGUF,
        "The type of a tensor is one that zten supports.", "unknown tensor type", TYPE;
    GgufShape "gguf-shape", Invalid, Spec("GGUF: gguf_tensor_info_t"), GGUF,
        "A tensor has at most 8 dimensions, its size in bytes fits in 64 bits, and each row consists of whole blocks.",
        "a row does not consist of whole blocks, or the tensor has too many bytes or dimensions", COUNTED;
    GgufLimits "gguf-limits", Note, Spec("GGUF: gguf_tensor_info_t"), GGUF,
        "A tensor has at most 4 dimensions, and a name of at most 64 bytes.",
        "a tensor has more dimensions or a longer name than the specification allows",
        "The default build of ggml rejects the file: load it with a program whose build allows such tensors.";
    GgufOffset "gguf-offset", Invalid, Spec("GGUF: gguf_tensor_info_t"), GGUF,
        "The data of a tensor begins at a multiple of the alignment.", "the data does not begin at a multiple of the alignment", WRITER;
    GgufBounds "gguf-bounds", Invalid, Spec("GGUF: gguf_tensor_info_t"), GGUF,
        "The data of a tensor ends within the file.", "the data extends beyond the end of the file", DAMAGED;
    GgufOverlap "gguf-overlap", Invalid, Policy("no byte belongs to two tensors"), GGUF,
        "No two tensors share data.", "two tensors share data", AMBIGUOUS;
    GgufContiguous "gguf-contiguous", Invalid, Policy("every byte after the header belongs to a tensor or is padding"), GGUF,
        "The data of each tensor begins at the first aligned offset after the data of the tensor before it.",
        "the data does not begin at the first aligned offset after the data of the tensor before it", WRITER;
    GgufPadding "gguf-padding", Invalid, Spec("GGUF: File structure"), GGUF,
        "Padding bytes are zero.", "a byte of padding is not zero", WRITER;
    GgufTrailing "gguf-trailing", Invalid, Policy("every byte after the header belongs to a tensor or is padding"), GGUF,
        "Only padding follows the data of the tensors.",
        "bytes follow the last tensor", APPENDED_TO_TENSORS;
    GgufSplit "gguf-split", Invalid, Spec("llama.cpp: gguf-split"), GGUF,
        "Split files are numbered, and agree on the number of files and tensors. The name of the first file ends in `-00001-of-` and the number of files.",
        "the files of the split model do not agree on the number of files or tensors", MISSING_PART;
    GgufSplitFile "gguf-split-file", Invalid, Implied("tensors are missing"), GGUF,
        "Every file of a split model is a regular file in the folder of the first file, or a link to a blob in a hub's cache.",
        "a file of the split model is missing, or is a link", MISSING_PART;

    // Rules on values of GGUF metadata on which loaders rely.
    GgufArchitecture "gguf-architecture", Invalid, Spec("GGUF: general.architecture"), GGUF,
        "`general.architecture` is a string.", "the architecture is not a string", WRITER;
    GgufTokenizerType "gguf-tokenizer-type", Invalid, Fault("llama.cpp #24888"), GGUF,
        "In `tokenizer.ggml`, `tokens` and `merges` are arrays of strings, `scores` is an array of f32, and `token_type` and `suppress_tokens` are arrays of i32 or u32.",
        "an array of the tokenizer has the wrong type", LOADER;
    GgufTokenizerLength "gguf-tokenizer-length", Invalid, Fault("llama.cpp #20735"), GGUF,
        "In `tokenizer.ggml`, `scores` and `token_type` have one element for each token.",
        "an array of the tokenizer does not have one element for each token", LOADER;
    GgufTokenId "gguf-token-id", Invalid, Fault("GHSA-g4cc-763q-h9h6, llama.cpp #3634, mistral.rs #2225"), GGUF,
        "The id of a special token is an integer below the number of tokens, or -1 for none.",
        "the id of a special token is out of range", LOADER;
    GgufByteToken "gguf-byte-token", Invalid, Fault("llama.cpp #26511, #27226"), GGUF,
        "A token of type 6 that begins with `<0x` continues with two hexadecimal digits and `>`.",
        "a byte token does not have exactly two hexadecimal digits", LOADER;
    GgufCount "gguf-count", Invalid, Fault("llama.cpp #26051, #2247"), GGUF,
        "The counts of a known architecture are integers: at most 1,024 blocks and 4,096 experts, and lengths and numbers of heads of at most 32 bits. The numbers of blocks and heads and the length of embeddings are above zero.",
        "a count is not an integer, or is out of range", LOADER;
    GgufExperts "gguf-experts", Invalid, Fault("llama.cpp #28345"), GGUF,
        "If a model of a known architecture has experts, it uses at least one and at most all of them.",
        "the model uses more experts than it has, or none", LOADER;

    // NumPy.
    NpyMagic "npy-magic", Invalid, Spec("NEP 1: Format Specification"), NPY,
        "A NumPy array begins with 93 4E 55 4D 50 59.", "the file does not begin with the magic of .npy files", NO_HEADER;
    NpyVersion "npy-version", Unsupported, Spec("NEP 1: Format Specification"), NPY,
        "The version is 1.0, 2.0 or 3.0.", "unsupported version", VERSION;
    NpyHeader "npy-header", Invalid, Spec("NEP 1: Format Specification"), NPY,
        "The header is a Python literal: a dictionary with the keys `descr`, `fortran_order` and `shape`, each once.",
        "invalid NumPy header", WRITER;
    NpyDtype "npy-dtype", Unsupported, Policy("the elements of another dtype have no known size"), NPY,
        "The dtype is one that NumPy writes.", "the array has an unknown dtype", TYPE;
    NpyObjects "npy-objects", Unsupported, Policy("objects are pickled, and unpickling can run code"), NPY,
        "The elements of an array are not Python objects.", "the array holds Python objects, which are pickled",
        "NumPy pickles arrays of Python objects, and unpickling can run code. Save numbers or text instead.";
    NpyShape "npy-shape", Invalid, Implied("no file can have 2^63 bytes or more"), NPY,
        "The size of the array in bytes fits in 63 bits.", "the size of the array in bytes does not fit in 63 bits", COUNTED;
    NpySize "npy-size", Invalid, Spec("NEP 1: Format Specification"), NPY,
        "The data has the size that the header gives the array, and the file ends after the data.",
        "the array has more or less data than its header needs", DAMAGED;

    // Rules on `.npz` files, the archives of NumPy.
    NpzMagic "npz-magic", Invalid, Spec("APPNOTE 4.3.7"), NPZ,
        "A file that is named `.npz` begins with a member, or is an archive without members.",
        "the file does not begin with the magic of .npz files", NO_HEADER;
    ZipEndRecord "zip-end-record", Invalid, Spec("APPNOTE 4.3.16"), ZIP,
        "The file ends with the end record of one archive, without a comment.",
        "the file does not end with the end record of an archive", DAMAGED;
    ZipEndRecord64 "zip-end-record-64", Invalid, Spec("APPNOTE 4.3.14"), ZIP,
        "A zip64 end record is present only if the archive needs it, is complete, lies at the offset that its locator gives, and agrees with the end record.",
        "the archive has two end records, and they do not agree", AMBIGUOUS;
    ZipDirectory "zip-directory", Invalid, Spec("APPNOTE 4.3.12"), ZIP,
        "The directory ends where the end record begins, and its members have no comments.",
        "invalid directory", AMBIGUOUS;
    ZipCount "zip-count", Invalid, Spec("APPNOTE 4.3.16"), ZIP,
        "The archive has the number of members that its end record gives.", "the archive has more or fewer members than its end record gives",
        AMBIGUOUS;
    ZipContiguous "zip-contiguous", Invalid, Policy("every byte belongs to exactly one member"), ZIP,
        "Members lie one after the other, from the first byte to the directory.",
        "a member does not begin where the member before it ends", AMBIGUOUS;
    ZipBounds "zip-bounds", Invalid, Spec("APPNOTE 4.3.7"), ZIP,
        "A member begins at the offset that the directory gives, and ends before the directory.",
        "a member does not begin at the offset that the directory gives", DAMAGED;
    ZipHeader "zip-header", Invalid, Spec("APPNOTE 4.3.7"), ZIP,
        "The local header of a member agrees with the directory.", "the local header does not agree with the directory",
        AMBIGUOUS;
    ZipDescriptor "zip-descriptor", Invalid, Spec("APPNOTE 4.3.9"), ZIP,
        "The data descriptor after a member agrees with the directory.",
        "the data descriptor does not agree with the directory", AMBIGUOUS;
    ZipExtra "zip-extra", Invalid, Spec("APPNOTE 4.5"), ZIP,
        "Extra fields are complete, and hold times, owners or zip64 sizes.", "invalid extra field",
        AMBIGUOUS;
    ZipAttributes "zip-attributes", Invalid, Implied("readers skip a member with other attributes, or make a folder or a link of it"), ZIP,
        "The attributes of each member are those of a regular file: no directory, volume, device or link.",
        "the attributes are not those of a regular file", AMBIGUOUS;
    ZipName "zip-name", Invalid, Implied("readers decode other names differently"), ZIP,
        "The name of each member is UTF-8 without zero bytes.", "the name is not UTF-8, or has a zero byte", AMBIGUOUS;
    NpzName "npz-name", Note, Policy("NumPy reads the arrays of an archive even if it has other members"), NPZ,
        "Each member is an array.", "a member is not an array", "zten does not read members that are not arrays. Remove them if the archive should hold arrays only.";
    NpzDuplicateName "npz-duplicate-name", Invalid, Implied("readers differ on which of two members with the same name they use"), NPZ,
        "No two members have the same name, with or without the suffix `.npy`.", "duplicate member name", AMBIGUOUS;
    ZipEncrypted "zip-encrypted", Invalid, Policy("encrypted content cannot be checked"), ZIP,
        "No member is encrypted.", "a member is encrypted", "zten cannot check encrypted content. Decrypt the archive first.";
    ZipFeature "zip-feature", Unsupported, Policy("no writer of tensors uses other features"), ZIP,
        "Members are stored or deflated, and need version 4.5 of zip or less.", "unsupported feature of zip", FEATURE;
    ZipStoredSize "zip-stored-size", Invalid, Implied("both sizes of a stored member count the same bytes"), ZIP,
        "The two sizes of a member that is not compressed are equal.", "a member is not compressed, but its two sizes differ", AMBIGUOUS;
    ZipDeflate "zip-deflate", Invalid, Spec("RFC 1951"), ZIP,
        "Compressed data can be decompressed, and the compressed stream ends with its last byte.",
        "the compressed data cannot be decompressed, or its stream does not end with the last byte", DAMAGED;
    // A flipped bit in compressed data may change the length of the decompressed data, so the advice is that the file was damaged.
    ZipLength "zip-length", Invalid, Spec("APPNOTE 4.4.9"), ZIP,
        "The content of a member has the length that the directory gives.", "the content does not have the length that the directory gives", DAMAGED;
    ZipCrc "zip-crc", Invalid, Spec("APPNOTE 4.4.7"), ZIP,
        "The content of a member has the checksum that the directory gives.", "the content does not have the checksum that the directory gives", DAMAGED;

    // Checkpoints of PyTorch.
    TorchFolder "torch-folder", Invalid, Spec("torch.save: zip"), TORCH,
        "All members are in one folder, which has one `data.pkl`.",
        "the members are not in one folder that has one data.pkl", CHECKPOINT;
    TorchMember "torch-member", Invalid, Policy("readers ignore other members"), TORCH,
        "Members are `data.pkl`, `data/` with a number, `version`, `byteorder`, `.format_version`, `.storage_alignment` and `.data/serialization_id`.",
        "a member has a name that PyTorch does not write", CHECKPOINT;
    TorchDuplicateMember "torch-duplicate-member", Invalid, Implied("readers differ on which of two members with the same name they use"), TORCH,
        "No two members have the same name.", "duplicate member name", AMBIGUOUS;
    TorchScript "torch-script", Unsupported, Policy("the archive is a program, which runs when it is loaded"), TORCH,
        "The archive has no code of a TorchScript program.", "this is a TorchScript program, which runs when it is loaded; zten reads the tensors of its data", PROGRAM;
    TorchVersion "torch-version", Invalid, Spec("torch.save: zip"), TORCH,
        "`version` is a number from 1 to 10. If present, `byteorder` is `little` or `big`, `.format_version` and `.storage_alignment` are numbers, and `.data/serialization_id` is text.",
        "the version is missing or unknown, or the byte order or another small member of the archive has an invalid value", "Save the checkpoint again with a current version of PyTorch.";
    TorchPickle "torch-pickle", Invalid, Spec("PEP 307, PEP 3154, PEP 574"), TORCH,
        "The pickle is complete, its protocol in an archive is from 2 to 5, each instruction finds the values that it takes, and integers in lines of text are written as Python writes them, with at most 4300 digits.",
        "invalid pickle", DAMAGED;
    TorchOpcode "torch-opcode", Invalid, Policy("PyTorch needs no other instructions, and some of them run code"), TORCH,
        "Each instruction holds data and belongs to the protocol of the pickle. In an archive, it is one with which PyTorch writes values. Only the first instruction gives the protocol.",
        "an instruction of the pickle is not allowed", PICKLE;
    TorchGlobal "torch-global", Invalid, Policy("a function or class that is imported may run code"), TORCH,
        "The globals of the pickle are those that PyTorch imports with `weights_only=True`, and the classes of plain values that `zten explain torch-global` lists.",
        "a global is not allowed", GLOBAL;
    TorchCall "torch-call", Invalid, Policy("zten does not guess what other arguments mean"), TORCH,
        "Functions, classes and states have the arguments that PyTorch writes.",
        "wrong arguments for a function", CHECKPOINT;
    TorchPersistentId "torch-persistent-id", Invalid, Spec("torch.save: storages"), TORCH,
        "A persistent id describes a storage: its class, its key, its device, which is not `meta`, and its number of elements.",
        "a persistent id does not describe a storage", CHECKPOINT;
    TorchMemo "torch-memo", Invalid, Policy("no program stores two values in the memo under the same number"), TORCH,
        "The memo numbers values in ascending order, and holds each value before an instruction refers to it.",
        "a value is put into the memo out of order, or is not in the memo", CHECKPOINT;
    TorchTrailing "torch-trailing", Invalid, Policy("readers ignore bytes after STOP"), TORCH,
        "The pickle ends with its first STOP.", "bytes follow the end of the pickle", APPENDED;
    TorchDuplicateKey "torch-duplicate-key", Invalid, Implied("readers differ on which of two equal keys they use"), TORCH,
        "The keys of a dictionary are unique, and so are the names of attributes.", "duplicate key", AMBIGUOUS;
    TorchDuplicateName "torch-duplicate-name", Invalid, Implied("readers differ on which of two tensors with the same name they use"), TORCH,
        "No two tensors have the same name. The name of a tensor is the keys that lead to it, joined by dots.",
        "duplicate tensor name", AMBIGUOUS;
    TorchStorage "torch-storage", Invalid, Spec("torch.save: storages"), TORCH,
        "Every storage of the pickle is in the file with the length that the pickle gives, all references to a storage agree, and a tensor uses each storage.",
        "the file does not have the storage, or has it with another length than the pickle gives", DAMAGED;
    TorchNoChecksums "torch-no-checksums", Note, Policy("PyTorch writes archives without checksums if it is told to"), TORCH,
        "The members of an archive have CRC-32 checksums.",
        "the archive has no checksums, so damage to its tensors is not noticed",
        "Compare the digest of the file with the digest that its source gives.";
    TorchByteOrder "torch-byte-order", Note, Policy("PyTorch does not swap the bytes of a storage without a type"), TORCH,
        "In a big-endian archive, elements of several bytes are in storages with a type.",
        "PyTorch reads other values on a little-endian machine, because this storage has no type that says how its bytes are swapped",
        "Save the checkpoint again on a little-endian machine.";
    TorchTensor "torch-tensor", Invalid, Implied("a file has no elements outside of its storages"), TORCH,
        "A tensor has one stride for each dimension, its elements lie within its storage, and only floats and complex numbers require gradients.",
        "the elements of the tensor do not lie within its storage, or cannot require gradients", CHECKPOINT;
    TorchDtype "torch-dtype", Unsupported, Policy("zTensor has no elements of this type"), TORCH,
        "The dtype of a tensor is one that zten supports.", "unsupported dtype", TYPE;
    TorchValue "torch-value", Unsupported, Policy("zten reads no other tensors"), TORCH,
        "Tensors are dense, or sparse with coordinates or compressed rows, and their elements are used as they are stored: not conjugated, not negated.",
        "zten does not read tensors of this kind", KIND;
    TorchWeightsOnly "torch-weights-only", Note, Policy("zten builds the values without calling anything"), TORCH,
        "PyTorch knows the instructions and imports of the pickle when it loads the file with `weights_only=True`.",
        "PyTorch does not read the file with `weights_only=True`",
        "Convert the file to safetensors, or add the classes with `torch.serialization.add_safe_globals` if you trust them.";
    TorchLeftOut "torch-left-out", Note, Policy("zten has no form for other values"), TORCH,
        "Values are tensors, arrays, dictionaries, lists, numbers, texts, bytes, flags and None.",
        "values are left out, because zten has no form for them",
        "The tensors are complete. Load the file with the program that wrote it if you need the other values.";

    // Rules on quantized tensors that are stored as several tensors. A check finds these tensors by the conventions of
    // `docs/quantized.md`.
    QuantParts "quant-parts", Note, Policy("the tensors can be read without the convention, too"), ANY,
        "Tensors that have the names and dtypes of a convention for quantized tensors have its shapes.",
        "tensors have the names of the parts of a quantized tensor, but contradict each other", PARTS;
    QuantScale "quant-scale", Note, Policy("all values with this scale are NaN or infinite"), ANY,
        "Each scale of a quantized tensor is finite.", "a scale is NaN or infinite", DAMAGED_VALUES;
    QuantIndex "quant-index", Invalid, Fault("GPTQModel #2949"), ANY,
        "Each number in `g_idx` of a GPTQ tensor is the number of a group that has a scale; a negative number counts from the end.",
        "a row is in a group that has no scale", LOADER;
    QuantState "quant-state", Invalid, Policy("bitsandbytes fails to load a state that is not a JSON object"), ANY,
        "`quant_state.bitsandbytes__nf4` and `quant_state.bitsandbytes__fp4` of a tensor of bitsandbytes are JSON objects.",
        "the state of a quantized tensor is not a JSON object", WRITER;

    // Rules that files of several formats may break.
    TensorBoolValue "tensor-bool-value", Invalid, Policy("readers differ on what bytes other than 0 and 1 mean"), ANY,
        "A bool is 0 or 1.", "a bool is {}: expected 0 or 1", WRITER;
    LimitHeader "limit-header", Limit, Policy("the memory for opening a file grows with its header"), ANY,
        "A header has at most 64 KiB (.npy), 100 MB (safetensors, an index), 100 MiB (GGUF) or 64 MiB (a pickle, the directory of an archive), and the names of the tensors in an index take at most 128 MiB of memory.",
        "the header exceeds the limit", LARGE;

    FormatUnknown "format-unknown", Unsupported, Policy("zten does not guess a format"), ANY,
        "The file has a format that zten knows.", "this is not a tensor file that zten knows", UNKNOWN;
    FormatEmpty "format-empty", Invalid, Implied("an empty file holds nothing"), ANY,
        "The file is not empty.", "the file is empty", EMPTY;
    FormatName "format-name", Invalid, Policy("loaders that trust the name read the file as another format"), ANY,
        "A file whose name ends in `.zt`, `.safetensors`, `.gguf`, `.npy` or `.npz` has that format. A file whose name ends in `.pt`, `.pth`, `.ckpt`, `.pth.tar`, `.pkl` or `.pickle`, or is `adapter_model.bin` or `pytorch_model*.bin`, is a checkpoint of PyTorch or TensorFlow, or a pickle (a `.pth` file may also be text, a list of paths for Python). A file with any other name does not call a function when it is unpickled.",
        "the name of the file is that of another format than its content", NAME;

    // Formats that zten recognizes but does not read. A file of such a format breaks the rule with the name of the
    // format.
    FormatPickle "format-pickle", Unsupported, Policy("reading a pickle runs code"), NONE,
        "The file is not a pickle.", "this is a pickle of Python, which can call any function when it is loaded", PICKLE;
    FormatTorch "format-torch", Unsupported, Policy("PyTorch gave up this form in 2017"), NONE,
        "The file is not a tar archive of PyTorch before 0.1.10.",
        "this is a tar archive of PyTorch before 0.1.10, with pickles in it", PICKLE;
    FormatTorchExport "format-torch-export", Unsupported, Policy("the file holds a program"), NONE,
        "The file is not a program that `torch.export` saved.",
        "this is a program that torch.export saved (.pt2)", PROGRAM;
    FormatJoblib "format-joblib", Invalid, Policy("reading the file runs code"), NONE,
        "The file is not a file of joblib.",
        "this is a file of joblib, which is a pickle of Python: loading it runs code of its author", JOBLIB;
    FormatTar "format-tar", Unsupported, Policy("the archive itself is no tensor file"), NONE,
        "The file is not a tar archive.", "this is a tar archive", "Unpack the archive, and check the files in it.";
    FormatZip "format-zip", Unsupported, Policy("the archive itself is no tensor file"), NONE,
        "A zip archive is a `.npz` file or a checkpoint of PyTorch.",
        "this is a zip archive that is neither a .npz file nor a checkpoint of PyTorch",
        "Unpack the archive, and check the files in it.";
    FormatKeras "format-keras", Unsupported, Policy("zten does not read this format"), NONE,
        "The file is not an archive of Keras.",
        "this is an archive of Keras: a configuration, which may name code, and weights in HDF5", CONVERT;
    FormatHdf5 "format-hdf5", Unsupported, Policy("zten does not read this format"), NONE,
        "The file is not an HDF5 file.", "this is an HDF5 file", CONVERT;
    FormatOnnx "format-onnx", Unsupported, Policy("zten does not read this format"), NONE,
        "The file is not an ONNX model.", "this is an ONNX model, as far as its first bytes tell", CONVERT;
    FormatSavedModel "format-saved-model", Unsupported, Policy("zten does not read this format"), NONE,
        "The file is not a `SavedModel` of TensorFlow.",
        "this is a SavedModel of TensorFlow, as far as its first bytes tell: a program, which is run when it is loaded", CONVERT;
    FormatTflite "format-tflite", Unsupported, Policy("zten does not read this format"), NONE,
        "The file is not a `TFLite` model.", "this is a TFLite model", CONVERT;
    FormatGgml "format-ggml", Unsupported, Policy("GGUF has replaced this format"), NONE,
        "The file is not a GGML file.", "this is a GGML file, which is older than GGUF", CONVERT;
    FormatFlax "format-flax", Unsupported, Policy("zten does not read this format"), NONE,
        "The file is not a checkpoint of Flax in `MessagePack`.",
        "this is a checkpoint of Flax in MessagePack, as far as its first bytes tell", FLAX;
    FormatTensorflow "format-tensorflow-checkpoint", Unsupported, Policy("zten does not read this format"), NONE,
        "The file is not part of a checkpoint of TensorFlow.",
        "this is part of a checkpoint of TensorFlow", TENSORFLOW;
    FormatCoreMl "format-coreml", Unsupported, Policy("zten does not read this format"), NONE,
        "The file is not a model of Core ML.", "this is a model of Core ML, as far as its first bytes tell", CORE_ML;
    FormatFasttext "format-fasttext", Unsupported, Policy("zten does not read this format"), NONE,
        "The file is not a model of fastText.", "this is a model of fastText", FASTTEXT;
    FormatWord2vec "format-word2vec", Unsupported, Policy("zten does not read this format"), NONE,
        "The file is not a file of word vectors in the format of word2vec.",
        "this is a file of word vectors (word2vec), as far as its first bytes tell", WORD2VEC;
    FormatMatlab "format-matlab", Unsupported, Policy("zten does not read this format"), NONE,
        "The file is not a MATLAB file.", "this is a MATLAB file", MATLAB;

    // Formats of compressed files, which zten does not decompress.
    FormatGzip "format-gzip", Unsupported, Policy("zten does not decompress files"), NONE,
        "The file is not compressed with gzip.", "this file is compressed with gzip, and zten does not decompress it", COMPRESSED;
    FormatBzip2 "format-bzip2", Unsupported, Policy("zten does not decompress files"), NONE,
        "The file is not compressed with bzip2.", "this file is compressed with bzip2, and zten does not decompress it", COMPRESSED;
    FormatXz "format-xz", Unsupported, Policy("zten does not decompress files"), NONE,
        "The file is not compressed with xz.", "this file is compressed with xz, and zten does not decompress it", COMPRESSED;
    FormatZstd "format-zstd", Unsupported, Policy("zten does not decompress files"), NONE,
        "The file is not compressed with zstd.", "this file is compressed with zstd, and zten does not decompress it", COMPRESSED;
    FormatLz4 "format-lz4", Unsupported, Policy("zten does not decompress files"), NONE,
        "The file is not compressed with lz4.", "this file is compressed with lz4, and zten does not decompress it", COMPRESSED;
    FormatZlib "format-zlib", Unsupported, Policy("zten does not decompress files"), NONE,
        "The file is not compressed with zlib.",
        "this file is compressed with zlib, as joblib compresses pickles, and zten does not decompress it", ZLIB;
    Format7z "format-7z", Unsupported, Policy("zten does not decompress files"), NONE,
        "The file is not a 7z archive.", "this is a 7z archive, which zten does not decompress", COMPRESSED;

    // Files that a failed download leaves in place of the real file.
    FormatLfsPointer "format-lfs-pointer", Unsupported, Policy("the real file is somewhere else"), NONE,
        "The file is not a Git LFS pointer.", "this is a Git LFS pointer, not the file", LFS;
    FormatHtml "format-html", Unsupported, Policy("the real file is somewhere else"), NONE,
        "The file is not an HTML page.", "this is an HTML page, not the file", PAGE;
    FormatXml "format-xml", Unsupported, Policy("the real file is somewhere else"), NONE,
        "The file is not XML.", "this is XML, not the file", PAGE;
    FormatJsonError "format-json-error", Unsupported, Policy("the real file is somewhere else"), NONE,
        "The file is not the error message of a server in JSON.", "this is an error message of a server in JSON, not the file", PAGE;
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
