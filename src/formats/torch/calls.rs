//! The effects of the instructions that call functions and classes, set states of objects, and make storages. No function is
//! called: for each function, the machine knows the arguments that pickles have, and makes the value that the call would
//! return.
//!
//! The module `values` has the classes of the standard library, and `arrays` has those of NumPy.

use core::fmt;

use crate::formats::error::FormatError;
use crate::formats::rules::Rule;

use super::globals::{self, Global, Known};
use super::machine::{Context, Machine};
use super::pickle::{Fact, LONGEST_NAME, Pickled, TensorLayout, Unknown};

/// The largest number of arguments of a function that the machine knows.
pub(super) const ARGUMENTS: usize = 8;

impl Machine<'_> {
    /// Returns the error for a call with wrong arguments at the current instruction.
    pub(super) fn wrong_call(&self) -> FormatError {
        self.violation(Rule::TorchCall, Rule::TorchCall.row().broken())
    }

    /// Returns the error for wrong arguments of `function`.
    fn wrong_call_of(&self, function: Global) -> FormatError {
        let Some((module, name)) = function.name() else { return self.wrong_call() };
        let sentence = format_args!("wrong arguments for {module}.{name}");
        self.violation(Rule::TorchCall, sentence)
    }

    /// Returns the error for a call of `function` with `found` arguments, a wrong number of them. The error gives the expected
    /// number if the function is known to take a certain number of arguments.
    fn wrong_count(&self, function: Global, found: u32) -> FormatError {
        let (Some((module, name)), Some((least, most))) = (function.name(), function.arguments())
        else {
            return self.wrong_call_of(function);
        };
        let error = |expected: fmt::Arguments<'_>| {
            let sentence = format_args!(
                "wrong arguments for {module}.{name}: expected {expected}, found {found}"
            );
            self.violation(Rule::TorchCall, sentence)
        };
        if least == most {
            error(format_args!("{least}"))
        } else {
            error(format_args!("{least} to {most}"))
        }
    }

    /// Returns the error for wrong arguments of `class`.
    pub(super) fn wrong_arguments(&self, class: Known) -> FormatError {
        let (module, name) = class.name();
        let sentence = format_args!("wrong arguments for {module}.{name}");
        self.violation(Rule::TorchCall, sentence)
    }

    /// Executes REDUCE: pushes the result of an allowed function for its arguments, or an object with the arguments if zten
    /// does not know the function and the pickle may import it.
    pub(super) fn reduce(&mut self) -> Result<(), FormatError> {
        let (args, function) = (self.pop()?, self.pop()?);
        let value = match (function, args) {
            (Pickled::Global(global), Pickled::Tuple(node)) => {
                match self.call(global, node) {
                    // In a pickle that is not in an archive (`Context::Alone`), wrong arguments for a known function are no
                    // error. This interpreter takes the texts of protocols 0 and 1 for bytes, so it would reject the
                    // arguments of honest files too. The result of the call is an object of which nothing is known: no
                    // values of such a pickle are read.
                    Err(error)
                        if self.context == Context::Alone
                            && error.breaks(Rule::TorchCall)
                            && matches!(global, Global::Known(_)) =>
                    {
                        self.object(function, args)?
                    }
                    made => made?,
                }
            }
            (Pickled::Foreign(_), Pickled::Tuple(_)) => self.object(function, args)?,
            // The result of a call may be a function again.
            (Pickled::Object(node), Pickled::Tuple(_)) if self.is_foreign(node) => {
                self.object(function, args)?
            }
            _ => return Err(self.wrong_call()),
        };
        self.push(value)
    }

    /// Executes NEWOBJ: makes a namespace, a UUID, or an object of a class that zten does not know. Other classes are an error.
    pub(super) fn new_object(&mut self) -> Result<(), FormatError> {
        let (args, class) = (self.pop()?, self.pop()?);
        let Pickled::Tuple(node) = args else { return Err(self.wrong_call()) };
        let value = match class {
            Pickled::Global(Global::Known(Known::Namespace)) if self.pickle.length(node) == 0 => {
                Pickled::Namespace(self.empty(Pickled::Namespace)?)
            }
            Pickled::Global(Global::Known(Known::Uuid)) if self.pickle.length(node) == 0 => {
                self.object(class, args)?
            }
            Pickled::Foreign(_) => self.object(class, args)?,
            _ => return Err(self.wrong_call()),
        };
        self.push(value)
    }

    /// Returns a new object of `class` with the arguments `args`.
    pub(super) fn object(&mut self, class: Pickled, args: Pickled) -> Result<Pickled, FormatError> {
        let node = self.pickle.container(self.now)?;
        self.pickle.extend(node, &[class, args])?;
        Ok(Pickled::Object(node))
    }

    /// Returns the value that calling `function` with the items of the tuple `node` would return.
    fn call(&mut self, function: Global, node: u32) -> Result<Pickled, FormatError> {
        let count = self.pickle.length(node);
        let args: [Pickled; ARGUMENTS] = self.pickle.first(node);
        Ok(match (function, count, args) {
            (Global::OrderedDict, 0, _) => Pickled::Ordered(self.empty(Pickled::Ordered)?),
            (Global::OrderedDict, 1, [Pickled::List(list), ..]) => self.ordered(list)?,
            (Global::Size, 1, [shape @ Pickled::Tuple(node), ..])
                if !self.pickle.has(node, Fact::HasOtherThanInts) =>
            {
                shape
            }
            (Global::Device, 1 | 2, _) => self.device(function, node)?,
            (Global::Tensor(least, most, _), ..)
                if (u32::from(least)..=most.into()).contains(&count) =>
            {
                self.tensor(function, args)?
            }
            (Global::Parameter(expected), ..) if count == u32::from(expected) => {
                self.parameter(args)?
            }
            (Global::Known(known), ..) => self.call_known(known, node)?,
            _ => return Err(self.wrong_count(function, count)),
        })
    }

    /// Returns the value that calling `known` with the items of the tuple `node` would return.
    fn call_known(&mut self, known: Known, node: u32) -> Result<Pickled, FormatError> {
        let count = self.pickle.length(node);
        let args: [Pickled; ARGUMENTS] = self.pickle.first(node);
        let shape = match (known, count, args) {
            (Known::Layout, 1, [Pickled::Text(at), ..]) => {
                let layout = self.pickle.short(at, LONGEST_NAME).and_then(globals::layout);
                return layout.map(Pickled::Layout).ok_or_else(|| self.wrong_arguments(known));
            }
            (Known::Sparse, 2, [Pickled::Layout(layout), Pickled::Tuple(data), ..]) => {
                return self.sparse(layout, data);
            }
            (Known::ScriptList, 1, [list @ Pickled::List(_), ..])
            | (Known::ScriptType, 2, [list, Pickled::Text(_), ..]) => return Ok(list),
            (
                Known::OfType,
                4,
                [Pickled::Global(function), class, Pickled::Tuple(args), state, ..],
            ) => {
                return self.of_type(function, class, args, state);
            }
            (Known::ParameterClass, 1, [tensor @ Pickled::Tensor(_), ..])
            | (Known::ParameterClass, 2, [tensor @ Pickled::Tensor(_), Pickled::Bool(_), ..]) => {
                return Ok(tensor);
            }
            (
                Known::Quantized,
                6 | 7,
                [
                    Pickled::Storage(_),
                    Pickled::Int(_),
                    shape @ Pickled::Tuple(_),
                    Pickled::Tuple(_),
                    Pickled::Tuple(_),
                    Pickled::Bool(_),
                    hooks,
                    ..,
                ],
            ) => {
                self.drop_hooks(hooks);
                shape
            }
            (
                Known::Nested,
                3 | 4,
                [Pickled::Tensor(_), Pickled::Tensor(_), Pickled::Tensor(_), ..],
            ) => Pickled::None,
            (
                Known::Meta,
                4,
                [
                    Pickled::Global(Global::Dtype(_)),
                    shape @ Pickled::Tuple(_),
                    Pickled::Tuple(_),
                    Pickled::Bool(_),
                    ..,
                ],
            )
            | (
                Known::Wrapper,
                6..=8,
                [
                    Pickled::Global(Global::Known(Known::TensorClass)) | Pickled::Foreign(_),
                    Pickled::Global(Global::Dtype(_)),
                    shape @ Pickled::Tuple(_),
                    Pickled::Tuple(_),
                    ..,
                ],
            ) => shape,
            (
                Known::DeviceTensor,
                4,
                [
                    tensor @ (Pickled::Tensor(_) | Pickled::Array(_)),
                    Pickled::Global(Global::Dtype(_)),
                    Pickled::Text(_),
                    Pickled::Bool(_),
                    ..,
                ],
            ) => {
                let [first, _, third] = match tensor {
                    Pickled::Tensor(node) | Pickled::Array(node) => self.pickle.first(node),
                    _ => return Err(self.wrong_arguments(known)),
                };
                // The shape is the first item of an array and the third item of a tensor.
                if matches!(tensor, Pickled::Array(_)) { first } else { third }
            }
            _ if is_of_numpy(known) => return self.make_array(known, node),
            _ => return self.make_value(known, node),
        };
        self.unread_tensor(known, shape)
    }

    /// Creates a placeholder for a tensor that zten does not read. `function` makes the tensor. `shape` is [`Pickled::None`] if
    /// the arguments do not give the shape. Fails if the shape has items that are no integers.
    fn unread_tensor(&mut self, function: Known, shape: Pickled) -> Result<Pickled, FormatError> {
        if let Pickled::Tuple(node) = shape
            && self.pickle.has(node, Fact::HasOtherThanInts)
        {
            return Err(self.wrong_arguments(function));
        }
        let node = self.pickle.container(self.now)?;
        self.pickle.extend(node, &[Pickled::Global(Global::Known(function)), shape])?;
        Ok(Pickled::UnreadTensor(node))
    }

    /// Returns the device that `function`, a [`Global::Device`], makes from the items of the tuple `args`. The result is an object
    /// if PyTorch only knows the kind of device with an extension package.
    fn device(&mut self, function: Global, args: u32) -> Result<Pickled, FormatError> {
        let [name, number, ..]: [Pickled; ARGUMENTS] = self.pickle.first(args);
        let Pickled::Text(at) = name else { return Err(self.wrong_call_of(function)) };
        let text = self.pickle.short(at, LONGEST_NAME).unwrap_or_default();
        let (kind, in_name) = globals::device(text).ok_or_else(|| self.wrong_call_of(function))?;
        let is_valid = |number: u64| number <= u64::from(globals::LAST_DEVICE);
        match (self.pickle.length(args), number) {
            (1, _) if in_name.is_none_or(|number| is_valid(number.into())) => {
                if globals::is_kind(kind) {
                    return Ok(name);
                }
            }
            (2, Pickled::Int(_))
                if in_name.is_none() && self.pickle.count(number).is_some_and(is_valid) =>
            {
                if globals::is_kind(kind) {
                    let node = self.pickle.container(self.now)?;
                    self.pickle.extend(node, &[name, number])?;
                    return Ok(Pickled::Device(node));
                }
            }
            _ => return Err(self.wrong_call_of(function)),
        }
        self.is_beyond_torch(Unknown::Device);
        self.object(Pickled::Global(function), Pickled::Tuple(args))
    }

    /// Returns an ordered dictionary of the pairs in `list`, the form in which Python 2 wrote ordered dictionaries.
    fn ordered(&mut self, list: u32) -> Result<Pickled, FormatError> {
        let node = self.empty(Pickled::Ordered)?;
        let mut next = self.pickle.items(list).place();
        loop {
            let mut items = self.pickle.resume(next);
            let Some(pair) = items.next() else { return Ok(Pickled::Ordered(node)) };
            next = items.place();
            let (Pickled::List(pair) | Pickled::Tuple(pair)) = pair else {
                return Err(self.wrong_call_of(Global::OrderedDict));
            };
            if self.pickle.length(pair) != 2 {
                return Err(self.wrong_call_of(Global::OrderedDict));
            }
            let [key, value] = self.pickle.first(pair);
            self.check_hashable(key)?;
            self.pickle.extend(node, &[key, value])?;
        }
    }

    /// Returns the parameter that is made from `args`: a tensor, whether it requires gradients, hooks, and perhaps a state.
    fn parameter(&mut self, args: [Pickled; ARGUMENTS]) -> Result<Pickled, FormatError> {
        let [tensor, grad @ Pickled::Bool(_), hooks, state, ..] = args else {
            return Err(self.wrong_call());
        };
        match tensor {
            Pickled::Tensor(node) => self.check_gradients(node, grad)?,
            Pickled::UnreadTensor(_) | Pickled::Sparse(_) => {}
            _ => return Err(self.wrong_call()),
        }
        self.drop_hooks(hooks);
        self.drop_attributes(state)?;
        Ok(tensor)
    }

    /// Returns the tensor for `torch._tensor._rebuild_from_type_v2`: PyTorch calls `function` with `args`, changes the class of
    /// the result to `class`, and sets the attributes in `state`. zten returns the plain tensor, which has the same elements, and
    /// drops the state.
    fn of_type(
        &mut self,
        function: Global,
        class: Pickled,
        args: u32,
        state: Pickled,
    ) -> Result<Pickled, FormatError> {
        let is_class = matches!(
            class,
            Pickled::Global(Global::Known(Known::TensorClass | Known::ParameterClass))
                | Pickled::Foreign(_)
        );
        let makes_tensor = matches!(
            function,
            Global::Tensor(..)
                | Global::Parameter(_)
                | Global::Known(
                    Known::Sparse | Known::Quantized | Known::Meta | Known::Nested | Known::Wrapper
                )
        );
        if !is_class || !makes_tensor {
            return Err(self.wrong_arguments(Known::OfType));
        }
        let tensor = self.call(function, args)?;
        match (class, state) {
            // The class decides what its state is, so the state is dropped without a check.
            (Pickled::Foreign(_), _) => self.pickle.dropped.add_state(),
            _ => self.drop_attributes(state)?,
        }
        Ok(tensor)
    }

    /// Counts a tensor whose hooks are left out, unless `value`, the hooks, is Python's `None` or a dictionary. A dictionary
    /// is marked instead and checked after the last instruction, because later instructions may add hooks to an empty
    /// dictionary.
    fn drop_hooks(&mut self, value: Pickled) {
        match value {
            Pickled::None => {}
            Pickled::Dict(node) | Pickled::Ordered(node) => {
                self.pickle.note(node, Fact::IsHooks);
            }
            _ => self.pickle.dropped.add_hooks(),
        }
    }

    /// Marks the dictionaries in `state`, the state of a parameter: Python's `None`, a dictionary, or a tuple of two of these.
    /// Another state is an error. The dictionaries are checked after the last instruction and then dropped.
    fn drop_attributes(&mut self, state: Pickled) -> Result<(), FormatError> {
        match state {
            Pickled::None => {}
            Pickled::Dict(node) | Pickled::Ordered(node) => {
                self.pickle.note(node, Fact::IsState);
            }
            // The first item holds plain attributes, the second those of `__slots__`. PyTorch sets both in the same way.
            Pickled::Tuple(node) if self.pickle.length(node) == 2 => {
                let parts: [Pickled; 2] = self.pickle.first(node);
                for part in parts {
                    match part {
                        Pickled::None => {}
                        Pickled::Dict(node) | Pickled::Ordered(node) => {
                            self.pickle.note(node, Fact::IsState);
                        }
                        _ => return Err(self.wrong_call()),
                    }
                }
            }
            _ => return Err(self.wrong_call()),
        }
        Ok(())
    }

    /// Checks that the dtype of the node `tensor` allows gradients if `grad` is `True`: PyTorch fails on other tensors.
    fn check_gradients(&self, tensor: u32, grad: Pickled) -> Result<(), FormatError> {
        let dtype = self.pickle.tensor_dtype(tensor)?;
        if grad == Pickled::Bool(true) && !dtype.has_gradients() {
            let name = dtype.name();
            let sentence = format_args!("a tensor of the dtype {name} cannot require gradients");
            return Err(self.violation(Rule::TorchTensor, sentence));
        }
        Ok(())
    }

    /// Returns the tensor that `function`, a [`Global::Tensor`], makes from `args`.
    fn tensor(
        &mut self,
        function: Global,
        args: [Pickled; ARGUMENTS],
    ) -> Result<Pickled, FormatError> {
        let Global::Tensor(least, _, dtype_at) = function else {
            return Err(self.wrong_call_of(function));
        };
        let [storage, offset, shape, strides, grad, hooks, seventh, eighth] = args;
        let (dtype, extra) = match dtype_at {
            Some(_) => (seventh, eighth),
            None => (Pickled::None, seventh),
        };
        let is_dtype = match dtype_at {
            Some(_) => matches!(dtype, Pickled::Global(Global::Dtype(_))),
            None => true,
        };
        let is_grad = least < 6 || matches!(grad, Pickled::Bool(_));
        let (Pickled::Storage(_), Pickled::Int(_), Pickled::Tuple(_), Pickled::Tuple(_), true) =
            (storage, offset, shape, strides, is_dtype && is_grad)
        else {
            return Err(self.wrong_call_of(function));
        };
        if least >= 6 {
            self.drop_hooks(hooks);
        }
        let node = self.pickle.container_of(self.now, Fact::IsTensor)?;
        self.pickle.extend(node, &[storage, offset, shape, strides, dtype, extra])?;
        match extra {
            Pickled::None => {}
            // The metadata says whether elements are conjugated or negated.
            Pickled::Dict(metadata) => self.pickle.note(metadata, Fact::IsTensorMetadata),
            _ => return Err(self.wrong_call_of(function)),
        }
        // PyTorch changes a tensor that it rebuilds with a dtype in place, which fails if the tensor requires gradients.
        if dtype_at.is_some() && grad == Pickled::Bool(true) {
            let sentence = "a tensor that is rebuilt with a dtype requires gradients, so PyTorch cannot load it";
            return Err(self.violation(Rule::TorchTensor, sentence));
        }
        if least >= 6 {
            self.check_gradients(node, grad)?;
        }
        Ok(Pickled::Tensor(node))
    }

    /// Returns the sparse tensor of `layout` that is made from the items of the tuple `data`.
    fn sparse(&mut self, layout: TensorLayout, data: u32) -> Result<Pickled, FormatError> {
        let items: [Pickled; 4] = self.pickle.first(data);
        let (indices, values, shape) = match (layout, self.pickle.length(data), items) {
            (TensorLayout::Coo, 3, [indices, values, shape, _])
            | (TensorLayout::Coo, 4, [indices, values, shape, Pickled::Bool(_) | Pickled::None]) => {
                ([indices, Pickled::None], values, shape)
            }
            (TensorLayout::Csr | TensorLayout::Other, 4, [starts, indices, values, shape]) => {
                ([starts, indices], values, shape)
            }
            _ => return Err(self.wrong_arguments(Known::Sparse)),
        };
        let is_shape = matches!(shape, Pickled::Tuple(node)
            if !self.pickle.has(node, Fact::HasOtherThanInts));
        let are_tensors = indices.into_iter().chain([values]).all(|part| {
            matches!(part, Pickled::Tensor(_))
                || (part == Pickled::None && layout == TensorLayout::Coo)
        });
        if !is_shape || !are_tensors {
            return Err(self.wrong_arguments(Known::Sparse));
        }
        let node = self.pickle.container(self.now)?;
        let [first, second] = indices;
        self.pickle.extend(node, &[Pickled::Layout(layout), first, second, values, shape])?;
        Ok(Pickled::Sparse(node))
    }

    /// Executes BUILD: gives a state to the object on top of the stack.
    pub(super) fn build(&mut self) -> Result<(), FormatError> {
        let state = self.pop()?;
        match (self.top()?, state) {
            (Pickled::Ordered(_), Pickled::Dict(state)) => self.drop_versions(state),
            (Pickled::Namespace(node), Pickled::Dict(state)) if self.pickle.length(node) == 0 => {
                self.copy_attributes(state, node)?;
            }
            (Pickled::Array(node), Pickled::Tuple(state)) => {
                self.fill_array(node, state)?;
            }
            (Pickled::NumpyDtype(node), Pickled::Tuple(state)) => {
                self.set_dtype(node, state)?;
            }
            (Pickled::Object(node), _) if self.is_foreign(node) => {
                self.pickle.extend(node, &[state])?;
            }
            (Pickled::Object(node), Pickled::Dict(state)) if self.is_uuid(node, state) => {}
            _ => {
                let sentence = "a state is given to a value that takes no state";
                return Err(self.violation(Rule::TorchCall, sentence));
            }
        }
        Ok(())
    }

    /// Drops the attributes of a dictionary, which `state` holds. A `state_dict` has the versions of modules as an attribute; the
    /// versions do not affect tensors, so nothing is said about them.
    fn drop_versions(&mut self, state: u32) {
        let [key, value] = self.pickle.first(state);
        let is_named = matches!(key, Pickled::Text(at)
            if self.pickle.short(at, LONGEST_NAME) == Some(b"_metadata"));
        match value {
            Pickled::Ordered(node) if is_named && self.pickle.length(state) == 2 => {
                self.pickle.note(node, Fact::IsMetadata);
            }
            _ if self.pickle.length(state) == 0 => {}
            _ => self.pickle.dropped.add_attributes(),
        }
    }

    /// Copies the names and values of the dictionary `state` to the namespace `node`. The dictionary may grow later, and the
    /// namespace does not. A name that is not a text is an error.
    fn copy_attributes(&mut self, state: u32, node: u32) -> Result<(), FormatError> {
        let mut next = self.pickle.items(state).place();
        loop {
            let mut items = self.pickle.resume(next);
            let (Some(name), Some(value)) = (items.next(), items.next()) else { return Ok(()) };
            next = items.place();
            if !matches!(name, Pickled::Text(_)) {
                return Err(self.wrong_arguments(Known::Namespace));
            }
            self.pickle.extend(node, &[name, value])?;
        }
    }

    /// Executes BINPERSID: pops a persistent id, and pushes the storage that the id describes, or the class that an id of the kind
    /// `module` gives.
    pub(super) fn persistent(&mut self) -> Result<(), FormatError> {
        let id = self.pop()?;
        let (count, [kind, class, key, device, length, part]): (_, [Pickled; 6]) = match id {
            Pickled::Tuple(node) => (self.pickle.length(node), self.pickle.first(node)),
            _ => (0, [Pickled::None; 6]),
        };
        let text = |value: Pickled| match value {
            Pickled::Text(at) => self.pickle.short(at, LONGEST_NAME),
            // Pickles of protocols 0 and 1 store texts as lines, which this machine takes for bytes.
            Pickled::Bytes(at) if self.context.allows_any_opcode() => {
                self.pickle.short(at, LONGEST_NAME)
            }
            _ => None,
        };
        // A persistent id of the kind `module` gives the source file of a class of modules. Its value is the class.
        if text(kind) == Some(b"module") && count == 4 && matches!(class, Pickled::Foreign(_)) {
            return self.push(class);
        }
        let parsed_device = text(device).and_then(globals::device);
        // PyTorch would load a tensor without elements, but other readers would see the bytes of the member.
        if parsed_device.is_some_and(|(kind, _)| kind == b"meta") {
            let sentence = "a storage is on the device meta, which stores nothing";
            return Err(self.violation(Rule::TorchPersistentId, sentence));
        }
        // A persistent id has five items, and six in a stream. The sixth item is `None`, or describes the part of another
        // storage that the storage is.
        let is_well_formed = match (self.context, count, part) {
            (Context::Stream | Context::Alone, 6, Pickled::Tuple(part)) => self.is_part(part),
            (Context::Stream, 5, _) | (Context::StreamHeader, ..) => false,
            (Context::Stream | Context::Alone, 6, Pickled::None) | (_, 5, _) => true,
            _ => false,
        };
        let is_storage = is_well_formed
            && text(kind) == Some(b"storage")
            && parsed_device.is_some()
            && text(key).is_some()
            && matches!(class, Pickled::Global(Global::Storage(_) | Global::Untyped))
            && matches!(length, Pickled::Int(_));
        if !is_storage {
            let sentence = "a persistent id does not describe a storage";
            return Err(self.violation(Rule::TorchPersistentId, sentence));
        }
        if self.context == Context::Stream && class == Pickled::Global(Global::Untyped) {
            self.is_beyond_torch(Unknown::UntypedStorage);
        }
        let node = self.pickle.container_of(self.now, Fact::IsStorage)?;
        self.pickle.extend(node, &[class, key, length, device, part])?;
        self.push(Pickled::Storage(node))
    }

    /// Returns whether the items of the tuple `part` describe a part of a storage: a key, which is a text, an offset, and a
    /// number of elements.
    fn is_part(&self, part: u32) -> bool {
        let [key, offset, length] = self.pickle.first(part);
        self.pickle.length(part) == 3
            && matches!((key, offset, length), (Pickled::Text(at), Pickled::Int(_), Pickled::Int(_))
                if self.pickle.short(at, LONGEST_NAME).is_some())
    }
}

/// Returns whether `known` is a class or function of NumPy.
fn is_of_numpy(known: Known) -> bool {
    matches!(
        known,
        Known::Reconstruct
            | Known::FromBuffer
            | Known::Scalar
            | Known::Array
            | Known::NumpyDtype
            | Known::DtypeClass
            | Known::Record
    )
}
