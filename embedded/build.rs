//! Makes the linker use the script of `cortex-m-rt`, which includes `memory.x`, for the images.

fn main() {
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("none") {
        println!("cargo:rustc-link-search={}", env!("CARGO_MANIFEST_DIR"));
        println!("cargo:rustc-link-arg-bins=-Tlink.x");
    }
    println!("cargo:rerun-if-changed=memory.x");
}
