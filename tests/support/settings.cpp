// SPDX-License-Identifier: GPL-2.0 OR BSD-3-Clause
#include "settings.hpp"

#include <fstream>
#include <stdexcept>
#include <utility>

namespace support {
namespace {

std::string file_of_link_setting(const std::string& device, const std::string& name) {
    return "/sys/class/infiniband/" + device + "/mpa/" + name;
}

}  // namespace

std::string value_of_link_setting(const std::string& device, const std::string& name) {
    std::ifstream setting(file_of_link_setting(device, name));
    std::string value;
    setting >> value;
    return value;
}

kernel_setting::kernel_setting(std::string file, const std::string& value)
    : file_(std::move(file)) {
    std::ifstream now(file_);
    std::getline(now, before_);
    std::ofstream out(file_);
    out << value << std::flush;
    if (!out) throw std::runtime_error("cannot write " + file_);
}

kernel_setting::~kernel_setting() {
    std::ofstream(file_) << before_;
}

link_setting::link_setting(const std::string& device, const std::string& name, bool value)
    : kernel_setting(file_of_link_setting(device, name), value ? "1" : "0") {}

}  // namespace support
