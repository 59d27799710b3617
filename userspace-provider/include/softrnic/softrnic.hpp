// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
/// \file
/// RDMA for C++20 programs: everything in one include.
///
///   error.hpp result.hpp            errors as values
///   handle.hpp                      the move-only owner under all types
///   flags.hpp                       access rights, options of a request
///   context.hpp                     devices, their limits, asynchronous events
///   slice.hpp memory.hpp window.hpp pieces of memory, domains, regions, buffers, windows
///   completion.hpp                  completion queues and channels
///   work_request.hpp qp.hpp srq.hpp posting, singly and in batches
///   address.hpp cm_channel.hpp      addresses and rdma_cm events
///   endpoint.hpp connection.hpp     dial()
///   listener.hpp                    listen()
///
/// Works with every verbs device that rdma_cm can connect. Needs neither exceptions nor RTTI.
/// Link with -libverbs -lrdmacm.
#pragma once

#include "softrnic/address.hpp"
#include "softrnic/cm_channel.hpp"
#include "softrnic/completion.hpp"
#include "softrnic/connection.hpp"
#include "softrnic/context.hpp"
#include "softrnic/deadline.hpp"
#include "softrnic/endpoint.hpp"
#include "softrnic/error.hpp"
#include "softrnic/flags.hpp"
#include "softrnic/handle.hpp"
#include "softrnic/listener.hpp"
#include "softrnic/memory.hpp"
#include "softrnic/qp.hpp"
#include "softrnic/result.hpp"
#include "softrnic/slice.hpp"
#include "softrnic/srq.hpp"
#include "softrnic/window.hpp"
#include "softrnic/work_request.hpp"
