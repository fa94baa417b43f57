//! The instructions of pickles: those that are carried out, and the names of those that are rejected.

use super::pickle::Value;

/// The operand that follows an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operand {
    /// A fixed number of bytes.
    Fixed(u8),
    /// A little-endian length of so many bytes, and as many bytes as it says.
    Counted(u8),
    /// A fixed number of lines.
    Lines(u8),
}

/// The effect of an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    /// Pushes a value.
    Push(Value),
    /// Pushes the value that its operand is.
    Scalar(fn(u32) -> Value),
    /// Pushes an empty container.
    Empty(fn(u32) -> Value),
    /// Pushes the string of Python 2 that its operand is.
    String,
    /// Pushes the integer that its line is, or a flag.
    Int,
    /// Makes a tuple of so many values.
    Tuple(u8),
    /// Makes a container of the values behind the mark.
    Gather(fn(u32) -> Value),
    /// Adds to a list (`l`), a set (`s`) or a dictionary (`d`): one item, or those behind the mark.
    Add(u8, bool),
    Global,
    StackGlobal,
    Reduce,
    Build,
    New,
    Persistent,
    Put,
    Memoize,
    Get,
    /// Drops the value on top, or all down to the mark.
    Pop(bool),
    Protocol,
    Frame,
    Stop,
}

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    byte: u8,
    pub(super) name: &'static str,
    pub(super) operand: Operand,
    /// None if it is rejected.
    pub(super) op: Option<Op>,
    /// True if it is rejected in archives.
    pub(super) is_alone: bool,
}

const fn plain(byte: u8, name: &'static str, op: Op) -> Row {
    with(byte, name, Fixed(0), op)
}

const fn with(byte: u8, name: &'static str, operand: Operand, op: Op) -> Row {
    Row { byte, name, operand, op: Some(op), is_alone: false }
}

/// One that PyTorch writes in no archive.
const fn alone(byte: u8, name: &'static str, operand: Operand, op: Op) -> Row {
    Row { byte, name, operand, op: Some(op), is_alone: true }
}

const fn forbidden(byte: u8, name: &'static str) -> Row {
    Row { byte, name, operand: Fixed(0), op: None, is_alone: false }
}

use Operand::{Counted, Fixed, Lines};

/// All instructions of protocols 0 to 5, the most frequent ones first. In archives PyTorch writes those of protocol 2 and
/// later that hold tensors; pickles by themselves have others that are as harmless.
const ROWS: [Row; 68] = [
    with(b'q', "BINPUT", Fixed(1), Op::Put),
    with(b'h', "BINGET", Fixed(1), Op::Get),
    with(b'r', "LONG_BINPUT", Fixed(4), Op::Put),
    plain(0x94, "MEMOIZE", Op::Memoize),
    with(b'K', "BININT1", Fixed(1), Op::Scalar(Value::Int)),
    with(b'X', "BINUNICODE", Counted(4), Op::Scalar(Value::Text)),
    plain(b'(', "MARK", Op::Push(Value::Mark)),
    plain(b't', "TUPLE", Op::Gather(Value::Tuple)),
    plain(b'R', "REDUCE", Op::Reduce),
    plain(b'Q', "BINPERSID", Op::Persistent),
    plain(0x85, "TUPLE1", Op::Tuple(1)),
    plain(0x86, "TUPLE2", Op::Tuple(2)),
    plain(0x87, "TUPLE3", Op::Tuple(3)),
    plain(b')', "EMPTY_TUPLE", Op::Empty(Value::Tuple)),
    plain(0x89, "NEWFALSE", Op::Push(Value::Bool(false))),
    plain(0x88, "NEWTRUE", Op::Push(Value::Bool(true))),
    with(b'M', "BININT2", Fixed(2), Op::Scalar(Value::Int)),
    with(b'J', "BININT", Fixed(4), Op::Scalar(Value::Int)),
    with(b'j', "LONG_BINGET", Fixed(4), Op::Get),
    with(0x8c, "SHORT_BINUNICODE", Counted(1), Op::Scalar(Value::Text)),
    plain(0x93, "STACK_GLOBAL", Op::StackGlobal),
    with(b'c', "GLOBAL", Lines(2), Op::Global),
    plain(b'N', "NONE", Op::Push(Value::None)),
    with(b'G', "BINFLOAT", Fixed(8), Op::Scalar(Value::Float)),
    with(0x8a, "LONG1", Counted(1), Op::Scalar(Value::Int)),
    plain(b']', "EMPTY_LIST", Op::Empty(Value::List)),
    plain(b'}', "EMPTY_DICT", Op::Empty(Value::Dict)),
    plain(0x8f, "EMPTY_SET", Op::Empty(Value::Set)),
    plain(b'a', "APPEND", Op::Add(b'l', false)),
    plain(b'e', "APPENDS", Op::Add(b'l', true)),
    plain(0x90, "ADDITEMS", Op::Add(b's', true)),
    plain(b's', "SETITEM", Op::Add(b'd', false)),
    plain(b'u', "SETITEMS", Op::Add(b'd', true)),
    plain(b'b', "BUILD", Op::Build),
    plain(0x81, "NEWOBJ", Op::New),
    with(0x8d, "BINUNICODE8", Counted(8), Op::Scalar(Value::Text)),
    with(b'C', "SHORT_BINBYTES", Counted(1), Op::Scalar(Value::Bytes)),
    with(b'B', "BINBYTES", Counted(4), Op::Scalar(Value::Bytes)),
    with(0x8e, "BINBYTES8", Counted(8), Op::Scalar(Value::Bytes)),
    with(0x80, "PROTO", Fixed(1), Op::Protocol),
    with(0x95, "FRAME", Fixed(8), Op::Frame),
    plain(b'.', "STOP", Op::Stop),
    alone(b'0', "POP", Fixed(0), Op::Pop(false)),
    alone(b'1', "POP_MARK", Fixed(0), Op::Pop(true)),
    alone(b'F', "FLOAT", Lines(1), Op::Scalar(Value::Float)),
    alone(b'I', "INT", Lines(1), Op::Int),
    alone(b'L', "LONG", Lines(1), Op::Int),
    alone(b'S', "STRING", Lines(1), Op::Scalar(Value::Bytes)),
    alone(b'T', "BINSTRING", Counted(4), Op::String),
    with(b'U', "SHORT_BINSTRING", Counted(1), Op::String),
    alone(b'V', "UNICODE", Lines(1), Op::Scalar(Value::Bytes)),
    alone(b'd', "DICT", Fixed(0), Op::Gather(Value::Dict)),
    alone(b'g', "GET", Lines(1), Op::Get),
    alone(b'l', "LIST", Fixed(0), Op::Gather(Value::List)),
    alone(b'p', "PUT", Lines(1), Op::Put),
    alone(0x8b, "LONG4", Counted(4), Op::Scalar(Value::Int)),
    alone(0x91, "FROZENSET", Fixed(0), Op::Gather(Value::Set)),
    with(0x96, "BYTEARRAY8", Counted(8), Op::Scalar(Value::Bytes)),
    forbidden(b'2', "DUP"),
    forbidden(b'P', "PERSID"),
    forbidden(b'i', "INST"),
    forbidden(b'o', "OBJ"),
    forbidden(0x82, "EXT1"),
    forbidden(0x83, "EXT2"),
    forbidden(0x84, "EXT4"),
    forbidden(0x92, "NEWOBJ_EX"),
    forbidden(0x97, "NEXT_BUFFER"),
    forbidden(0x98, "READONLY_BUFFER"),
];

impl Row {
    /// The first protocol that has the instruction; 0 if it is one before 2.
    pub(super) fn protocol(&self) -> u8 {
        match self.byte {
            b'B' | b'C' => 3,
            0x8c..=0x95 => 4,
            0x96.. => 5,
            0x80..=0x8b => 2,
            _ => 0,
        }
    }
}

/// Finds an instruction.
pub(super) fn find(byte: u8) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.byte == byte)
}
