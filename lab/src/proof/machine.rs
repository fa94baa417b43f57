//! Runs a guest in an interpreter, and counts its instructions.

use wasmi::{
    CompilationMode, Config, Engine, Global, Instance, Linker, Memory, Module, Store, Val,
};

use crate::proof::count::WORK;

/// The outcome of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The rule that the file breaks, or `misuse` for an error without a rule; empty if there is no error.
    pub rule: String,
    /// The number of executed instructions.
    pub work: u64,
}

/// An instance of the guest, with a file in its memory.
pub struct Machine {
    store: Store<()>,
    instance: Instance,
    memory: Memory,
    work: Global,
}

/// A factory of equal machines.
pub struct Maker {
    engine: Engine,
    module: Module,
}

impl Maker {
    /// Makes a factory of machines that run `module`. The module counts its own instructions.
    ///
    /// # Errors
    /// The bytes are not a valid module.
    pub fn new(module: &[u8]) -> Result<Self, wasmi::Error> {
        let engine = Engine::new(Config::default().compilation_mode(CompilationMode::Eager));
        let module = Module::new(&engine, module)?;
        Ok(Self { engine, module })
    }

    /// Makes a new machine.
    ///
    /// # Errors
    /// The module has imports.
    pub fn machine(&self) -> Result<Machine, wasmi::Error> {
        let mut store = Store::new(&self.engine, ());
        let linker = Linker::new(&self.engine);
        let instance = linker.instantiate_and_start(&mut store, &self.module)?;
        let memory = instance.get_memory(&store, "memory").expect("a module has a memory");
        let work = instance.get_global(&store, WORK).expect("a module that counts");
        Ok(Machine { store, instance, memory, work })
    }
}

impl Machine {
    /// Copies `file` into the memory of the guest.
    ///
    /// # Errors
    /// The guest traps, because it has no memory for the file.
    pub fn file(&mut self, file: &[u8]) -> Result<(), wasmi::Error> {
        let length = u32::try_from(file.len()).expect("a small file");
        let reserve = self.instance.get_typed_func::<u32, u32>(&self.store, "reserve")?;
        let at = reserve.call(&mut self.store, length)?;
        let at = usize::try_from(at).expect("32 bits");
        self.memory.write(&mut self.store, at, file).expect("there is room");
        Ok(())
    }

    /// Calls the function `name` of the guest; `canonical` says whether it opens the file as canonical.
    ///
    /// # Errors
    /// The guest traps, which is the effect of a panic.
    pub fn call(&mut self, name: &str, canonical: bool) -> Result<Outcome, wasmi::Error> {
        let function = self.instance.get_typed_func::<u32, u64>(&self.store, name)?;
        let before = self.work();
        let result = function.call(&mut self.store, u32::from(canonical))?;
        let work = self.work() - before;
        let [at, length] = [result >> 32, result & u64::from(u32::MAX)]
            .map(|n| usize::try_from(n).expect("32 bits"));
        let mut rule = vec![0; length];
        self.memory.read(&self.store, at, &mut rule).expect("a text of the guest");
        Ok(Outcome { rule: String::from_utf8_lossy(&rule).into_owned(), work })
    }

    fn work(&self) -> u64 {
        match self.work.get(&self.store) {
            Val::I64(work) => work.cast_unsigned(),
            _ => unreachable!("it is an i64"),
        }
    }
}
