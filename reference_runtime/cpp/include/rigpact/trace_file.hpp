// The file of a recording: one writer at a time, a frame a write, and what the system has taken survives the process.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "rigpact/trace_header.hpp"

#if defined(_WIN32)
#include <filesystem>
#include <share.h>
#elif defined(__has_include)
#if __has_include(<sys/file.h>) && __has_include(<unistd.h>)
#include <sys/file.h>
#include <unistd.h>
#define RIGPACT_LOCKS_FILES 1
#endif
#endif

namespace rigpact {

class TraceFile final : public TraceOutput {
public:
    TraceFile() = default;
    TraceFile(const TraceFile&) = delete;
    TraceFile& operator=(const TraceFile&) = delete;
    ~TraceFile() { TraceFile::close(); }

    // Empties the file. Null, or why it cannot be written. path: UTF-8.
    const char* open(const char* path) override {
        close();
        errno = 0;
        file_ = opened(path);
        if (file_ == nullptr) return errno == 0 ? "the file cannot be opened" : std::strerror(errno);
#if defined(RIGPACT_LOCKS_FILES)
        // The lock belongs to this opening of the file: it also stops a second recorder of the same process.
        if (::flock(::fileno(file_), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
            close();
            return "another recorder writes this file";
        }
        if (::ftruncate(::fileno(file_), 0) != 0 && errno != EINVAL) {  // EINVAL: no regular file
            const char* const why = std::strerror(errno);
            close();
            return why;
        }
#endif
        std::setvbuf(file_, nullptr, _IONBF, 0);  // every put() is one write of the system
        return nullptr;
    }

    bool put(const void* data, std::size_t size) override { return file_ != nullptr && std::fwrite(data, 1, size, file_) == size; }

    bool close() override {
        const bool ok = file_ == nullptr || std::fclose(file_) == 0;
        file_ = nullptr;
        return ok;
    }

private:
    static std::FILE* opened(const char* path) {
#if defined(_WIN32)
#if defined(__cpp_char8_t)
        const std::filesystem::path wide(reinterpret_cast<const char8_t*>(path));
#else
        const std::filesystem::path wide = std::filesystem::u8path(path);
#endif
        return _wfsopen(wide.c_str(), L"wb", _SH_DENYWR);  // fails while another recorder writes, and empties nothing
#elif defined(RIGPACT_LOCKS_FILES)
        return std::fopen(path, "ab");  // emptied only when the lock is ours
#else
        return std::fopen(path, "wb");
#endif
    }

    std::FILE* file_ = nullptr;
};

}  // namespace rigpact
