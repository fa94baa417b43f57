//! A file as JavaScript sees it. `wasm-pack build examples/wasm` makes a package of it:
//!
//! ```js
//! import init, { Model } from "./pkg/zten_wasm.js";
//! await init();
//! const model = new Model(new Uint8Array(await file.arrayBuffer())); // throws why it is refused
//! for (const name of model.names()) console.log(name, model.shape(name));
//! const weights = model.elements("weight"); // a Float32Array
//! ```
#![forbid(unsafe_code)]

use wasm_bindgen::prelude::wasm_bindgen;
use zten::{Archive, Error, InMemory};

/// A file that has been opened and verified, in the memory of the module.
#[wasm_bindgen]
#[derive(Debug)]
pub struct Model {
    archive: Archive<InMemory<Vec<u8>>>,
}

/// An error as a text, which JavaScript throws.
fn thrown(error: Error) -> String {
    error.to_string()
}

#[wasm_bindgen]
impl Model {
    /// Opens a file and verifies all of it.
    ///
    /// # Errors
    /// Any rule.
    #[wasm_bindgen(constructor)]
    pub fn new(file: Vec<u8>) -> Result<Model, String> {
        let archive = Archive::from_bytes(file).map_err(thrown)?;
        archive.verify().map_err(thrown)?;
        Ok(Self { archive })
    }

    /// The names of the tensors: any UTF-8. Set them as text, never as HTML.
    pub fn names(&self) -> Vec<String> {
        self.archive.names().map(str::to_owned).collect()
    }

    /// The dimensions of a tensor, outermost first, as `BigInt`s.
    ///
    /// # Errors
    /// No tensor has that name.
    pub fn shape(&self, name: &str) -> Result<Vec<u64>, String> {
        Ok(self.archive.tensor(name).map_err(thrown)?.shape().to_vec())
    }

    /// All elements of a dense tensor of `f32`, in row-major order.
    ///
    /// # Errors
    /// No tensor has that name, or it is of another layout or type.
    pub fn elements(&self, name: &str) -> Result<Vec<f32>, String> {
        self.archive.tensor(name).and_then(|tensor| tensor.to_vec()).map_err(thrown)
    }
}

#[cfg(test)]
mod tests {
    use super::Model;

    #[test]
    fn a_file_is_read() {
        let file = include_bytes!("../../../corpus/accept/1.2.3/dense_all.zt");
        let model = Model::new(file.to_vec()).unwrap();
        assert_eq!(model.names().len(), 13);
        assert_eq!(model.shape("t_f32").unwrap(), [2, 3]);
        assert_eq!(model.elements("t_f32").unwrap()[..2], [-1.25, -0.75]);
        let error = model.elements("f32").unwrap_err();
        assert_eq!(error, r#"no tensor named "f32"; did you mean "t_f32"?"#);
        let error = model.elements("t_u8").unwrap_err();
        assert!(error.starts_with("component is u8, requested f32"), "{error}");
        assert!(Model::new(file[1..].to_vec()).unwrap_err().contains("header-magic"));
    }
}
