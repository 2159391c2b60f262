//! Reads the mount table and finds the other paths of the home.
//!
//! One folder may appear at several paths: in a bind mount, below the physical root of an image-based
//! system, or where a virtual machine exposes its disk a second time. Hiding the home means hiding all of
//! them.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// One line of `/proc/self/mountinfo`, as described in proc(5).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Device numbers; equal for all mounts of one file system.
    device: String,
    /// The folder of the file system that is mounted.
    pub(crate) root: PathBuf,
    /// The mount point.
    pub(crate) point: PathBuf,
    /// Options of this mount, not of the file system.
    options: Vec<String>,
    pub(crate) kind: String,
    /// Options of the file system, the same for all its mounts.
    super_options: Vec<String>,
}

impl Mount {
    /// All mounts, in mount order.
    pub(crate) fn all() -> io::Result<Vec<Self>> {
        let lines = fs::read("/proc/self/mountinfo")?;
        Ok(lines
            .split(|byte| *byte == b'\n')
            .filter_map(Self::parse)
            .collect())
    }

    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let mut fields = line.split(|byte| *byte == b' ').skip(2);
        let text = |field: &[u8]| String::from_utf8_lossy(field).into_owned();
        let device = text(fields.next()?);
        let [root, point] = [unescape(fields.next()?), unescape(fields.next()?)];
        let list = |field: &[u8]| text(field).split(',').map(str::to_owned).collect();
        let options = list(fields.next()?);
        // Optional fields come first; a hyphen ends them.
        let mut fields = fields.skip_while(|field| *field != b"-").skip(1);
        let kind = text(fields.next()?);
        // Skips the source of the file system, which comes before the options.
        let super_options = fields.nth(1).map(list).unwrap_or_default();
        Some(Self {
            device,
            root,
            point,
            options,
            kind,
            super_options,
        })
    }

    /// Whether the file system has an option, such as the name of a cgroup controller.
    pub(crate) fn super_has(&self, option: &str) -> bool {
        self.super_options.iter().any(|own| own == option)
    }

    /// Whether the mount has an option, such as `ro`.
    pub(crate) fn has(&self, option: &str) -> bool {
        self.options.iter().any(|own| own == option)
    }
}

/// Every path at which a folder, or a part of it, is visible; its own path first.
pub(crate) fn names_of(folder: &Path, mounts: &[Mount]) -> Vec<PathBuf> {
    let mut names = vec![folder.to_owned()];
    // The last of the innermost mounts, because a later mount covers an earlier one.
    let holders = mounts.iter().filter(|mount| folder.starts_with(&mount.point));
    let Some(holder) = holders.max_by_key(|mount| mount.point.components().count()) else {
        return names;
    };
    let place = match folder.strip_prefix(&holder.point) {
        Ok(inner) => holder.root.join(inner),
        Err(_) => return names,
    };
    for mount in mounts.iter().filter(|mount| mount.device == holder.device) {
        let name = match place.strip_prefix(&mount.root) {
            Ok(inner) => mount.point.join(inner),
            // Only a part of the folder is mounted here.
            Err(_) if mount.root.starts_with(&place) => mount.point.clone(),
            Err(_) => continue,
        };
        // A mount inside a known path is covered by that path.
        if !names.iter().any(|known| name.starts_with(known)) {
            names.push(name);
        }
    }
    names
}

/// Decodes the octal escapes of blanks and backslashes.
fn unescape(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, after)) = rest.split_first() {
        let octal = after.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let code = octal.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match code {
            Some(code) if *first == b'\\' => {
                bytes.push(code);
                rest = after.get(3..).unwrap_or_default();
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounts(lines: &[&str]) -> Vec<Mount> {
        lines
            .iter()
            .map(|line| Mount::parse(line.as_bytes()).expect("a mount"))
            .collect()
    }

    fn names(folder: &str, lines: &[&str]) -> Vec<String> {
        let found = names_of(Path::new(folder), &mounts(lines));
        found
            .iter()
            .map(|path| path.to_str().expect("text").trim_end_matches('/').to_owned())
            .collect()
    }

    #[test]
    fn a_line_is_parsed_with_its_blanks_and_optional_fields() {
        let line = r"36 35 98:0 /a\040b /mnt/c\134d ro,noexec shared:1 master:2 - ext4 /dev/x rw";
        let [mount] = mounts(&[line]).try_into().expect("one");
        assert_eq!(
            (mount.root, mount.point),
            (PathBuf::from("/a b"), PathBuf::from(r"/mnt/c\d"))
        );
        assert_eq!(
            (mount.kind.as_str(), mount.options),
            ("ext4", vec!["ro".to_owned(), "noexec".to_owned()])
        );
        assert_eq!(Mount::parse(b"36 35 98:0 /a"), None);
    }

    #[test]
    fn a_home_that_is_mounted_once_has_one_path() {
        let lines = [
            "1 0 8:1 / / rw - ext4 a rw",
            "2 1 8:2 / /home rw - ext4 b rw",
            "3 1 0:5 / /proc rw - proc p rw",
        ];
        assert_eq!(names("/home/ann/.wakeful", &lines), ["/home/ann/.wakeful"]);
    }

    #[test]
    fn a_second_mount_of_the_disk_gives_a_second_path() {
        let lines = [
            "1 0 8:1 / / rw - ext4 a rw",
            "2 1 8:1 / /mnt/wslg/distro ro - ext4 a rw",
        ];
        let expected = ["/home/ann/.wakeful", "/mnt/wslg/distro/home/ann/.wakeful"];
        assert_eq!(names("/home/ann/.wakeful", &lines), expected);
    }

    #[test]
    fn a_bind_mount_of_the_home_or_a_part_is_found() {
        let lines = [
            "1 0 8:1 / / rw - ext4 a rw",
            "2 1 8:1 /home/ann/.wakeful /srv/copy rw - ext4 a rw",
            "3 1 8:1 /home/ann/.wakeful/blobs /srv/part rw - ext4 a rw",
            "4 1 8:1 /home/ann/.wakeful/scratch /home/ann/.wakeful/scratch rw - ext4 a rw",
            "4 1 8:1 /home/ann/other /srv/other rw - ext4 a rw",
            "5 1 8:9 /home/ann/.wakeful /srv/stranger rw - ext4 c rw",
        ];
        assert_eq!(
            names("/home/ann/.wakeful", &lines),
            ["/home/ann/.wakeful", "/srv/copy", "/srv/part"]
        );
        // The reverse case: the home is given by the path of a bind mount.
        assert_eq!(
            names("/srv/copy", &lines)[..2],
            ["/srv/copy", "/home/ann/.wakeful"]
        );
    }

    #[test]
    fn the_mounts_of_this_machine_are_read() {
        let all = Mount::all().expect("mounts");
        assert!(all.iter().any(|mount| mount.point == Path::new("/")));
        assert!(all.iter().any(|mount| mount.kind == "proc"));
    }
}
