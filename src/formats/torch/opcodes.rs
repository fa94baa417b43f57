//! The table of the opcodes of pickles: the effect of each opcode that the machine executes, and the name of each opcode
//! that it rejects.

use super::pickle::Pickled;

/// The form of the operand that follows an opcode.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operand {
    /// An operand of a fixed number of bytes, which may be 0.
    Fixed(u8),
    /// A little-endian length, and then as many bytes as the length says. The field is the width of the length in bytes.
    Counted(u8),
    /// A fixed number of lines, each of which ends with a newline.
    Lines(u8),
}

/// The effect of an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum Op {
    /// Pushes a value.
    Push(Pickled),
    /// Pushes the value in the operand. The function makes a [`Pickled`] from the position of the instruction.
    Scalar(fn(u32) -> Pickled),
    /// Pushes an empty container. The function makes a [`Pickled`] from the node of the container.
    Empty(fn(u32) -> Pickled),
    /// Pushes the Python 2 string in the operand.
    String,
    /// Pushes the integer or bool in the operand, which is a line.
    Int,
    /// Pushes the integer in the operand, which is a line. The integer may end with the `L` of Python 2.
    Long,
    /// Pops the given number of values and pushes a tuple of them.
    Tuple(u8),
    /// Pops all values above the last mark and pushes a container of them. The function makes a [`Pickled`] from the node of
    /// the container.
    Gather(fn(u32) -> Pickled),
    /// Adds items to a list (`l`), a set (`s`) or a dictionary (`d`). True adds all values above the last mark, false adds one
    /// item.
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
    /// True drops the last mark and all values above it (`POP_MARK`). False drops the value or mark on top (`POP`).
    Pop(bool),
    Protocol,
    Frame,
    Stop,
}

/// A row of the table of opcodes: how the machine decodes and executes one opcode of pickles.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    byte: u8,
    pub(super) name: &'static str,
    pub(super) operand: Operand,
    /// The effect of an instruction with this opcode; `None` if a pickle with this opcode is rejected.
    pub(super) op: Option<Op>,
    /// Whether the opcode is allowed only in a pickle that is not a checkpoint, because no program writes it for a checkpoint.
    pub(super) is_alone: bool,
    /// Whether PyTorch, too, knows the opcode when it loads with `weights_only=True`.
    pub(super) is_of_torch: bool,
}

/// Returns the row of an opcode without an operand.
const fn plain(byte: u8, name: &'static str, op: Op) -> Row {
    with(byte, name, Fixed(0), op)
}

/// Returns the row of an opcode with an operand.
const fn with(byte: u8, name: &'static str, operand: Operand, op: Op) -> Row {
    Row { byte, name, operand, op: Some(op), is_alone: false, is_of_torch: true }
}

/// Returns the row of an opcode that PyTorch does not know when it loads with `weights_only=True`.
const fn beyond(byte: u8, name: &'static str, operand: Operand, op: Op) -> Row {
    Row { byte, name, operand, op: Some(op), is_alone: false, is_of_torch: false }
}

/// Returns the row of an opcode that no program writes for a checkpoint.
const fn alone(byte: u8, name: &'static str, operand: Operand, op: Op) -> Row {
    Row { byte, name, operand, op: Some(op), is_alone: true, is_of_torch: false }
}

/// Returns the row of an opcode that is always rejected.
const fn forbidden(byte: u8, name: &'static str) -> Row {
    Row { byte, name, operand: Fixed(0), op: None, is_alone: false, is_of_torch: false }
}

use Operand::{Counted, Fixed, Lines};

/// All opcodes of protocols 0 to 5. The most frequent opcodes come first, because [`find`] searches from the start. PyTorch
/// writes checkpoints with opcodes of protocol 2 and later, and Python 2 also with `INT` and `BINSTRING`; other pickles also
/// use the harmless older opcodes.
const ROWS: [Row; 68] = [
    with(b'q', "BINPUT", Fixed(1), Op::Put),
    with(b'h', "BINGET", Fixed(1), Op::Get),
    with(b'r', "LONG_BINPUT", Fixed(4), Op::Put),
    beyond(0x94, "MEMOIZE", Fixed(0), Op::Memoize),
    with(b'K', "BININT1", Fixed(1), Op::Scalar(Pickled::Int)),
    with(b'X', "BINUNICODE", Counted(4), Op::Scalar(Pickled::Text)),
    plain(b'(', "MARK", Op::Push(Pickled::Mark)),
    plain(b't', "TUPLE", Op::Gather(Pickled::Tuple)),
    plain(b'R', "REDUCE", Op::Reduce),
    plain(b'Q', "BINPERSID", Op::Persistent),
    plain(0x85, "TUPLE1", Op::Tuple(1)),
    plain(0x86, "TUPLE2", Op::Tuple(2)),
    plain(0x87, "TUPLE3", Op::Tuple(3)),
    plain(b')', "EMPTY_TUPLE", Op::Empty(Pickled::Tuple)),
    plain(0x89, "NEWFALSE", Op::Push(Pickled::Bool(false))),
    plain(0x88, "NEWTRUE", Op::Push(Pickled::Bool(true))),
    with(b'M', "BININT2", Fixed(2), Op::Scalar(Pickled::Int)),
    with(b'J', "BININT", Fixed(4), Op::Scalar(Pickled::Int)),
    with(b'j', "LONG_BINGET", Fixed(4), Op::Get),
    beyond(0x8c, "SHORT_BINUNICODE", Counted(1), Op::Scalar(Pickled::Text)),
    beyond(0x93, "STACK_GLOBAL", Fixed(0), Op::StackGlobal),
    with(b'c', "GLOBAL", Lines(2), Op::Global),
    plain(b'N', "NONE", Op::Push(Pickled::None)),
    with(b'G', "BINFLOAT", Fixed(8), Op::Scalar(Pickled::Float)),
    with(0x8a, "LONG1", Counted(1), Op::Scalar(Pickled::Int)),
    plain(b']', "EMPTY_LIST", Op::Empty(Pickled::List)),
    plain(b'}', "EMPTY_DICT", Op::Empty(Pickled::Dict)),
    plain(0x8f, "EMPTY_SET", Op::Empty(Pickled::Set)),
    plain(b'a', "APPEND", Op::Add(b'l', false)),
    plain(b'e', "APPENDS", Op::Add(b'l', true)),
    beyond(0x90, "ADDITEMS", Fixed(0), Op::Add(b's', true)),
    plain(b's', "SETITEM", Op::Add(b'd', false)),
    plain(b'u', "SETITEMS", Op::Add(b'd', true)),
    plain(b'b', "BUILD", Op::Build),
    plain(0x81, "NEWOBJ", Op::New),
    beyond(0x8d, "BINUNICODE8", Counted(8), Op::Scalar(Pickled::Text)),
    beyond(b'C', "SHORT_BINBYTES", Counted(1), Op::Scalar(Pickled::Bytes)),
    beyond(b'B', "BINBYTES", Counted(4), Op::Scalar(Pickled::Bytes)),
    beyond(0x8e, "BINBYTES8", Counted(8), Op::Scalar(Pickled::Bytes)),
    with(0x80, "PROTO", Fixed(1), Op::Protocol),
    beyond(0x95, "FRAME", Fixed(8), Op::Frame),
    plain(b'.', "STOP", Op::Stop),
    alone(b'0', "POP", Fixed(0), Op::Pop(false)),
    alone(b'1', "POP_MARK", Fixed(0), Op::Pop(true)),
    alone(b'F', "FLOAT", Lines(1), Op::Scalar(Pickled::Float)),
    beyond(b'I', "INT", Lines(1), Op::Int),
    beyond(b'L', "LONG", Lines(1), Op::Long),
    alone(b'S', "STRING", Lines(1), Op::Scalar(Pickled::Bytes)),
    beyond(b'T', "BINSTRING", Counted(4), Op::String),
    with(b'U', "SHORT_BINSTRING", Counted(1), Op::String),
    alone(b'V', "UNICODE", Lines(1), Op::Scalar(Pickled::Bytes)),
    alone(b'd', "DICT", Fixed(0), Op::Gather(Pickled::Dict)),
    alone(b'g', "GET", Lines(1), Op::Get),
    alone(b'l', "LIST", Fixed(0), Op::Gather(Pickled::List)),
    alone(b'p', "PUT", Lines(1), Op::Put),
    beyond(0x8b, "LONG4", Counted(4), Op::Scalar(Pickled::Int)),
    beyond(0x91, "FROZENSET", Fixed(0), Op::Gather(Pickled::Set)),
    beyond(0x96, "BYTEARRAY8", Counted(8), Op::Scalar(Pickled::Bytes)),
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
    /// Returns the first protocol with this opcode; 0 for the opcodes of protocols 0 and 1.
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

/// Finds the row of the opcode `byte`; `None` if no protocol has this opcode.
pub(super) fn find(byte: u8) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.byte == byte)
}
