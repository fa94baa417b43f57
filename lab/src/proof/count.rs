//! Instruments a wasm module so that it counts its own instructions: each basic block adds its length to a global.

use std::convert::Infallible;

use wasm_encoder::reencode::{Error, Reencode, utils};
use wasm_encoder::{
    CodeSection, ConstExpr, ExportKind, ExportSection, Function, GlobalSection, GlobalType,
    Instruction, Module, ValType,
};
use wasmparser::{ExportSectionReader, FunctionBody, GlobalSectionReader, Parser};

/// The name of the exported global with the number of executed instructions, an `i64`.
pub const WORK: &str = "work";

/// The binary logarithm of the number of bytes that `memory.copy` and `memory.fill` are counted to handle in one instruction:
/// 8, as for `i64.store`.
const MOVED: i64 = 3;

/// Returns `module` with instructions that count its work.
///
/// # Errors
/// The bytes are not a valid module.
pub fn counting(module: &[u8]) -> Result<Vec<u8>, Error<Infallible>> {
    let mut counted = Module::new();
    utils::parse_core_module(&mut Counter::default(), &mut counted, Parser::new(0), module)?;
    Ok(counted.finish())
}

#[derive(Default)]
struct Counter {
    /// The index of the global with the number of instructions. The next global is a temporary for a length on the stack.
    work: u32,
}

impl Reencode for Counter {
    type Error = Infallible;

    fn parse_global_section(
        &mut self,
        globals: &mut GlobalSection,
        section: GlobalSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        utils::parse_global_section(self, globals, section)?;
        self.work = globals.len();
        let of = |val_type| GlobalType { val_type, mutable: true, shared: false };
        globals.global(of(ValType::I64), &ConstExpr::i64_const(0));
        globals.global(of(ValType::I32), &ConstExpr::i32_const(0));
        Ok(())
    }

    fn parse_export_section(
        &mut self,
        exports: &mut ExportSection,
        section: ExportSectionReader<'_>,
    ) -> Result<(), Error<Infallible>> {
        utils::parse_export_section(self, exports, section)?;
        exports.export(WORK, ExportKind::Global, self.work);
        Ok(())
    }

    fn parse_function_body(
        &mut self,
        code: &mut CodeSection,
        body: FunctionBody<'_>,
    ) -> Result<(), Error<Infallible>> {
        let mut function = self.new_function_with_parsed_locals(&body)?;
        let mut reader = body.get_operators_reader()?;
        let mut stretch = Vec::new();
        while !reader.eof() {
            let instruction = self.parse_instruction(&mut reader)?;
            let ends = is_end(&instruction);
            stretch.push(instruction);
            if ends {
                self.write(&mut function, &stretch);
                stretch.clear();
            }
        }
        self.write(&mut function, &stretch);
        code.function(&function);
        Ok(())
    }
}

impl Counter {
    /// Writes the basic block `stretch`, with instructions before it that add its length to the number of executed
    /// instructions.
    fn write(&self, function: &mut Function, stretch: &[Instruction<'_>]) {
        let length = stretch.iter().filter(|instruction| is_work(instruction)).count();
        if length > 0 {
            function.instruction(&Instruction::I64Const(i64::try_from(length).expect("a few")));
            self.add(function);
        }
        for instruction in stretch {
            if matches!(instruction, Instruction::MemoryCopy { .. } | Instruction::MemoryFill(_)) {
                let held = self.work + 1;
                function.instruction(&Instruction::GlobalSet(held));
                function.instruction(&Instruction::GlobalGet(held));
                function.instruction(&Instruction::I64ExtendI32U);
                function.instruction(&Instruction::I64Const(MOVED));
                function.instruction(&Instruction::I64ShrU);
                self.add(function);
                function.instruction(&Instruction::GlobalGet(held));
            }
            function.instruction(instruction);
        }
    }

    /// Writes instructions that add the number on the stack to the work.
    fn add(&self, function: &mut Function) {
        function.instruction(&Instruction::GlobalGet(self.work));
        function.instruction(&Instruction::I64Add);
        function.instruction(&Instruction::GlobalSet(self.work));
    }
}

/// Returns whether an instruction ends a basic block: control may leave after it, or arrive from elsewhere.
fn is_end(instruction: &Instruction<'_>) -> bool {
    use Instruction as I;
    matches!(
        instruction,
        I::Block(_)
            | I::Loop(_)
            | I::If(_)
            | I::Else
            | I::End
            | I::Br(_)
            | I::BrIf(_)
            | I::BrTable(..)
            | I::Return
            | I::Unreachable
    )
}

/// Returns whether an instruction counts as work: all but block structure, `nop` and `drop`.
fn is_work(instruction: &Instruction<'_>) -> bool {
    use Instruction as I;
    !matches!(instruction, I::Block(_) | I::Loop(_) | I::End | I::Else | I::Nop | I::Drop)
}
