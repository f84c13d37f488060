//! BuildKit's wire contract: the messages of LLB and of the gateway, and the client of the gateway.
//!
//! The types are generated from `proto/` and checked in, so that building Wheelbase needs neither `protoc` nor a
//! build script; `tests/proto.rs` keeps both in step. Every map is ordered, which makes the bytes of a message a
//! function of its content: digests of vertices, and with them everybody's caches, depend on that.

#[allow(
    clippy::all,
    clippy::pedantic,
    missing_docs,
    unreachable_pub,
    reason = "generated: names, documentation and shape are those of the .proto files and their generator"
)]
mod generated {
    pub mod pb {
        include!("generated/pb.rs");
    }
    pub mod fsutil {
        pub mod types {
            include!("generated/fsutil.types.rs");
        }
    }
    pub mod google {
        pub mod rpc {
            include!("generated/google.rpc.rs");
        }
    }
    pub mod moby {
        pub mod buildkit {
            pub mod v1 {
                pub mod apicaps {
                    include!("generated/moby.buildkit.v1.apicaps.rs");
                }
                pub mod frontend {
                    include!("generated/moby.buildkit.v1.frontend.rs");
                }
                pub mod types {
                    include!("generated/moby.buildkit.v1.types.rs");
                }
            }
        }
    }
}

pub use generated::fsutil::types as fsutil;
pub use generated::google::rpc;
pub use generated::moby::buildkit::v1::{apicaps, frontend, types};
pub use generated::pb;
