//! What can go wrong between us and the daemon.

use std::error::Error as _;
use std::fmt;

use prost::Message as _;
use tonic::Code;

use super::caps::MissingCap;
use crate::proto::rpc;

/// A failed request.
#[derive(Debug, Clone, PartialEq)]
pub enum Error {
    /// The daemon's own words, with every detail that it sent: which vertex failed, where it comes from, how its
    /// process ended. Returned as it is, the user sees what a build without a frontend would show.
    Daemon(rpc::Status),
    /// The daemon cannot do what was asked.
    MissingCap(MissingCap),
    /// The daemon is not there, or not any more.
    Closed(String),
    /// The daemon did not answer within this number of seconds.
    Silent(u64),
    /// A policy of the daemon makes something else of an image.
    NotAnImage {
        /// What was asked for.
        reference: String,
        /// The source that takes its place, as an LLB identifier.
        identifier: String,
    },
    /// An answer that the protocol does not allow.
    Protocol(String),
}

impl Error {
    /// The status to return to the daemon.
    pub fn into_status(self) -> rpc::Status {
        let code = match &self {
            Self::Daemon(_) => Code::Unknown,
            Self::MissingCap(_) => Code::Unimplemented,
            Self::Closed(_) => Code::Unavailable,
            Self::Silent(_) => Code::DeadlineExceeded,
            Self::NotAnImage { .. } => Code::FailedPrecondition,
            Self::Protocol(_) => Code::Internal,
        };
        match self {
            Self::Daemon(status) => status,
            other => rpc::Status {
                code: code.into(),
                message: other.to_string(),
                details: Vec::new(),
            },
        }
    }

    /// Whether a registry says that there is no such image. How it says so differs: by the code of the answer, or in words
    /// of the registry that the daemon repeats (`errdefs` of containerd, `MANIFEST_UNKNOWN` of the distribution spec).
    pub fn is_missing_image(&self) -> bool {
        match self {
            Self::Daemon(status) => {
                status.code == i32::from(Code::NotFound)
                    || [
                        "not found",
                        "manifest unknown",
                        "MANIFEST_UNKNOWN",
                        "NAME_UNKNOWN",
                    ]
                    .iter()
                    .any(|words| status.message.contains(words))
            }
            _ => false,
        }
    }

    /// Whether the daemon says that a file is not there. It has no code of its own for that: what its kernel says
    /// comes through as text.
    pub(crate) fn is_missing_file(&self) -> bool {
        match self {
            Self::Daemon(status) => {
                status.code == i32::from(Code::NotFound)
                    || status.message.contains("no such file or directory")
            }
            _ => false,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Daemon(status) => f.write_str(&status.message),
            Self::MissingCap(missing) => missing.fmt(f),
            Self::Closed(reason) => write!(f, "BuildKit closed the connection: {reason}"),
            Self::Silent(seconds) => write!(f, "BuildKit did not answer within {seconds} seconds"),
            Self::NotAnImage {
                reference,
                identifier,
            } => {
                write!(f, "a source policy makes {identifier} of the image {reference}")
            }
            Self::Protocol(what) => write!(f, "BuildKit sent what the protocol does not allow: {what}"),
        }
    }
}

impl std::error::Error for Error {}

impl From<MissingCap> for Error {
    fn from(missing: MissingCap) -> Self {
        Self::MissingCap(missing)
    }
}

impl From<tonic::Status> for Error {
    fn from(status: tonic::Status) -> Self {
        // A status that has a cause was made on this side: nothing came from the daemon.
        if let Some(mut cause) = status.source() {
            // The innermost cause says most.
            while let Some(deeper) = cause.source() {
                cause = deeper;
            }
            return Self::Closed(cause.to_string());
        }
        // With details, the trailer repeats code and message beside them.
        let detailed = match status.details() {
            [] => None,
            details => rpc::Status::decode(details).ok(),
        };
        Self::Daemon(detailed.unwrap_or_else(|| rpc::Status {
            code: status.code().into(),
            message: status.message().to_owned(),
            details: Vec::new(),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_daemons_status_stays_as_it_is() {
        let any = prost_types::Any {
            type_url: "t".into(),
            value: vec![1, 2],
        };
        let sent = rpc::Status {
            code: 2,
            message: "exit code: 3".into(),
            details: vec![any],
        };
        let details = sent.encode_to_vec();
        let received = tonic::Status::with_details(Code::Unknown, "exit code: 3", details.into());
        let error = Error::from(received);
        assert_eq!(error, Error::Daemon(sent.clone()));
        assert_eq!(error.into_status(), sent);
    }

    #[test]
    fn a_status_without_details_is_one_too() {
        let error = Error::from(tonic::Status::not_found("nothing"));
        let expected = rpc::Status {
            code: 5,
            message: "nothing".into(),
            details: Vec::new(),
        };
        assert_eq!(error, Error::Daemon(expected));
        assert!(error.is_missing_file());
        let broken = tonic::Status::with_details(Code::Internal, "m", vec![0xff].into());
        let expected = rpc::Status {
            code: 13,
            message: "m".into(),
            details: Vec::new(),
        };
        assert_eq!(Error::from(broken), Error::Daemon(expected));
    }

    #[test]
    fn our_own_errors_become_statuses_with_a_code() {
        let missing = MissingCap {
            id: "mergeop".into(),
            disabled: None,
            needed_by: Vec::new(),
        };
        assert_eq!(
            Error::from(missing).into_status().code,
            i32::from(Code::Unimplemented)
        );
        let status = Error::Closed("gone".into()).into_status();
        assert_eq!(
            (status.code, status.message.as_str()),
            (14, "BuildKit closed the connection: gone")
        );
        assert_eq!(
            Error::Silent(15).into_status().message,
            "BuildKit did not answer within 15 seconds"
        );
        let other = Error::NotAnImage {
            reference: "a".into(),
            identifier: "git://b".into(),
        };
        assert_eq!(
            other.into_status().message,
            "a source policy makes git://b of the image a"
        );
        assert!(!Error::Protocol("x".into()).is_missing_file());
    }
}
