//! An asynchronous server: counts the tensors of each model that a client sends, and closes the connection.
//!
//! ```console
//! $ cargo run -p zten-worker --example async_server
//! $ nc -N 127.0.0.1 8081 < model.safetensors
//! ```

use std::error::Error;
use std::io::Seek as _;
use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use zten_worker::{Confinement, Function, Job, Pool, Work};

/// The largest number of bytes that are received of a model. Further bytes are ignored.
const MOST: u64 = 1 << 30;

/// A function that counts tensors. It runs in a confined process.
static COUNT: Function = Function::new("count", |work: Work| {
    let model = work.files.into_iter().next().ok_or("no file")?;
    let recognized = zten::formats::recognize(&model.file, model.length, &model.name);
    let options = zten::OpenOptions::default();
    let archive = recognized
        .and_then(|found| options.begin_recognized(model.file, found, &model.name))
        .and_then(|begun| begun.require_unsharded(&options))
        .map_err(|error| error.to_string())?;
    Ok(format!("{} tensors\n", archive.len()).into_bytes())
});

async fn answer(pool: Arc<Pool>, mut stream: TcpStream) -> Result<(), Box<dyn Error>> {
    // A file without a name, which is gone when it is closed.
    let mut file = tokio::fs::File::from_std(tempfile::tempfile()?);
    tokio::io::copy(&mut (&mut stream).take(MOST), &mut file).await?;
    let mut file = file.into_std().await;
    file.rewind()?;
    let ticket = pool.submit(Job::new(&COUNT).file(file, "")?)?;
    // Other connections are served meanwhile.
    let text = match ticket.await {
        Ok(answer) => answer,
        Err(error) => format!("{error}\n").into_bytes(),
    };
    Ok(stream.write_all(&text).await?)
}

fn main() -> Result<(), Box<dyn Error>> {
    zten_worker::init(&[&COUNT]);
    let pool = Arc::new(Pool::builder(Confinement::Require).start()?);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(async {
        let listener = TcpListener::bind("127.0.0.1:8081").await?;
        loop {
            let (stream, _) = listener.accept().await?;
            let pool = Arc::clone(&pool);
            tokio::spawn(async move {
                if let Err(error) = answer(pool, stream).await {
                    eprintln!("{error}");
                }
            });
        }
    })
}
