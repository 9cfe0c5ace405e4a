//! Files on disk: only regular files are read, and files are replaced as a whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// Opens a file and returns its length. Devices and pipes, which might never end, are refused.
pub(super) fn open(path: &Path) -> Result<(File, u64)> {
    let failed = |error: io::Error| Error::file(path, &error);
    // Checked before opening, because opening a pipe waits for its other end.
    refuse_devices(path, &fs::metadata(path).map_err(failed)?)?;
    let file = File::open(path).map_err(failed)?;
    let metadata = file.metadata().map_err(failed)?;
    if metadata.is_dir() {
        // Reading a folder gives the system's own error message.
        let error = io::Read::read(&mut &file, &mut [0]).err();
        return Err(failed(error.unwrap_or_else(|| io::Error::from(io::ErrorKind::IsADirectory))));
    }
    Ok((file, metadata.len()))
}

/// Writes a file under another name in the same folder, then renames it in one step. So no reader
/// ever sees a part of it, and a failure leaves the earlier file. Symbolic links are followed, and
/// permissions are kept.
pub(super) fn replace(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let failed = |error: io::Error| Error::file(path, &error);
    let before = fs::metadata(path).ok();
    if let Some(metadata) = &before {
        refuse_devices(path, metadata)?;
    }
    let place = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (file, draft) = create_draft(&place).map_err(failed)?;
    let mut out = BufWriter::with_capacity(1 << 16, file);
    let written = write(&mut out)
        .and_then(|()| out.into_inner().map_err(io::IntoInnerError::into_error))
        // The data must be on disk before the rename: a power cut must not leave an empty file.
        .and_then(|file| file.sync_all())
        .and_then(|()| before.map_or(Ok(()), |before| fs::set_permissions(&draft, before.permissions())))
        .and_then(|()| fs::rename(&draft, &place));
    written.map_err(|error| {
        // If the draft can't be removed either, the first error is the one to report.
        let _ = fs::remove_file(&draft);
        failed(error)
    })
}

/// Refuses devices, pipes and sockets: reading them may never end, and writing would replace them
/// by a file.
fn refuse_devices(path: &Path, metadata: &fs::Metadata) -> Result<()> {
    if metadata.is_file() || metadata.is_dir() {
        return Ok(());
    }
    Err(Error::model("neither a file nor a folder").in_file(path))
}

/// Creates a file beside `path`, with an unused name.
fn create_draft(path: &Path) -> io::Result<(File, PathBuf)> {
    static DRAFTS: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = DRAFTS.fetch_add(1, Ordering::Relaxed);
        let draft = path.with_file_name(format!(".splitwood-{}-{number}.draft", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).open(&draft) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            opened => return opened.map(|file| (file, draft)),
        }
    }
}
